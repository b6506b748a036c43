package container

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// staticBinary writes the smallest file that is one: a header of ELF without programs.
func staticBinary(t *testing.T, content string) string {
	t.Helper()
	header := append([]byte("\x7fELF\x02\x01\x01"), make([]byte, 57)...)
	copy(header[16:], []byte{2, 0, 62, 0, 1, 0, 0, 0}) // executable, amd64, version 1
	header[52], header[54], header[58] = 64, 56, 64    // sizes of headers
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, append(header, content...), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// The same binary makes the same image, whenever and wherever it lies; another binary, version or commit another one.
func TestPackIsReproducible(t *testing.T) {
	first := packed(t, staticBinary(t, "x"), "1", "abc")
	later := staticBinary(t, "x")
	if err := os.Chtimes(later, time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if again := packed(t, later, "1", "abc"); again.id() != first.id() || digest(again.layer) != digest(first.layer) {
		t.Errorf("%s and %s", first.id(), again.id())
	}
	for _, other := range []*archive{packed(t, staticBinary(t, "y"), "1", "abc"), packed(t, later, "2", "abc"), packed(t, later, "1", "abd")} {
		if other.id() == first.id() {
			t.Errorf("%s again for something else", other.id())
		}
	}
}

func packed(t *testing.T, path, version, commit string) *archive {
	t.Helper()
	a, err := pack(path, version, commit)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// What is written is what an engine looks for: a manifest that names a configuration, whose digest is the ID, and a layer of the
// digest that the configuration says.
func TestWrite(t *testing.T) {
	a := packed(t, staticBinary(t, "x"), "1", "abc")
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
	if digest(files[manifest[0].Config]) != a.id() || digest(files[manifest[0].Layers[0]]) != config.RootFS.DiffIDs[0] || manifest[0].RepoTags[0] != Endpoint {
		t.Errorf("%+v %+v", manifest, config)
	}
	if config.Config.User != Nobody || config.Config.Labels["org.opencontainers.image.revision"] != "abc" || config.Config.Labels["org.opencontainers.image.version"] != "1" {
		t.Errorf("%+v", config.Config)
	}
}

// A binary that needs libraries would not start in the image, with a message that names neither.
func TestPackRefusesDynamic(t *testing.T) {
	for path, want := range map[string]string{"/bin/sh": "build it with CGO_ENABLED=0", "image.go": "bad magic number", "/nowhere": "no such file"} {
		if _, err := pack(path, "", ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", path, err, want)
		}
	}
}
