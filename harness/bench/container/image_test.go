package container

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
)

// The same version and commit always give the same image. Another version or commit gives another image with the same
// layer.
func TestPackIsReproducible(t *testing.T) {
	first := packed(t, "1", "abc")
	if again := packed(t, "1", "abc"); again.id() != first.id() {
		t.Errorf("%s and %s", first.id(), again.id())
	}
	for _, other := range []*archive{packed(t, "2", "abc"), packed(t, "1", "abd")} {
		if other.id() == first.id() || digest(other.layer) != digest(first.layer) {
			t.Errorf("%s with layer %s, and %s with %s", other.id(), digest(other.layer), first.id(),
				digest(first.layer))
		}
	}
}

func packed(t *testing.T, version, commit string) *archive {
	t.Helper()
	a, err := pack(version, commit)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// The written archive has the parts that an engine wants: a manifest that names a configuration whose digest is the ID,
// and a layer with the digest in the configuration.
func TestWrite(t *testing.T) {
	a := packed(t, "1", "abc")
	var out bytes.Buffer
	if err := a.write(&out); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for r := tar.NewReader(&out); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	var manifest []struct {
		Config           string
		RepoTags, Layers []string
	}
	var config imageConfig
	if err := json.Unmarshal(files["manifest.json"], &manifest); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(files[manifest[0].Config], &config); err != nil {
		t.Fatal(err)
	}
	if digest(files[manifest[0].Config]) != a.id() || digest(files[manifest[0].Layers[0]]) !=
		config.RootFS.DiffIDs[0] || manifest[0].RepoTags[0] != Endpoint {
		t.Errorf("%+v %+v", manifest, config)
	}
	if config.Config.User != Nobody || config.Config.Labels["org.opencontainers.image.revision"] != "abc" ||
		config.Config.Labels["org.opencontainers.image.version"] != "1" {
		t.Errorf("%+v", config.Config)
	}
}

// The layer is a link to this binary and not a copy.
func TestLayer(t *testing.T) {
	h, err := tar.NewReader(bytes.NewReader(packed(t, "1", "abc").layer)).Next()
	if err != nil || "/"+h.Name != program || h.Typeflag != tar.TypeSymlink || h.Linkname != launcher ||
		!h.ModTime.Equal(epoch) {
		t.Errorf("%+v, %v", h, err)
	}
}

// A binary that needs libraries is refused, because it would not start in a container and the message would not tell
// why.
func TestDynamicIsRefused(t *testing.T) {
	for path, want := range map[string]string{"/bin/sh": "build it with CGO_ENABLED=0", "image.go": "bad magic number",
		"/nowhere": "no such file"} {
		if err := static(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", path, err, want)
		}
	}
}
