package container

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"
)

// Nobody is the user and group of a program whose image names none, as in distroless images.
const Nobody = "65532:65532"

// archive is an image in the form that `docker load` reads. The same version and commit give the same bytes, and so the
// same digests.
type archive struct {
	layer  []byte // a tar with one link
	config []byte
}

// imageConfig is the configuration of an image, whose digest is the image's ID.
type imageConfig struct {
	Architecture string    `json:"architecture"`
	OS           string    `json:"os"`
	Created      time.Time `json:"created"`
	Config       struct {
		User       string
		Entrypoint []string
		Labels     map[string]string
	} `json:"config"`
	RootFS struct {
		Type    string   `json:"type"`
		DiffIDs []string `json:"diff_ids"`
	} `json:"rootfs"`
}

// kind is the label of images that this package has built, by which old ones are found.
const kind = "org.rdma-gauntlet.image"

// pack builds the image of this repository's engines. Their program is this binary, which every container already has
// as its launcher, so that the image contains only a link to it.
func pack(version, commit string) (*archive, error) {
	a := &archive{}
	var err error
	if a.layer, err = tarball(file{name: strings.TrimPrefix(program, "/"), link: launcher}); err != nil {
		return nil, err
	}
	c := imageConfig{Architecture: runtime.GOARCH, OS: "linux", Created: epoch}
	c.Config.User, c.Config.Entrypoint = Nobody, []string{program, "process", "endpoint"}
	c.Config.Labels = map[string]string{
		kind:                                 "endpoint",
		"org.opencontainers.image.title":     "gauntlet/endpoint",
		"org.opencontainers.image.licenses":  "Apache-2.0",
		"org.opencontainers.image.version":   version,
		"org.opencontainers.image.revision":  commit,
		"org.rdma-gauntlet.contract.version": "1",
	}
	c.RootFS.Type, c.RootFS.DiffIDs = "layers", []string{digest(a.layer)}
	a.config, err = json.Marshal(c)
	return a, err
}

// static checks that a binary, which is to begin containers, runs where there are no libraries.
func static(path string) error {
	f, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("container: %s: %w", path, err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return errors.New("container: this binary needs libraries, which an image may not have; build it with " +
				"CGO_ENABLED=0, as make build does")
		}
	}
	return nil
}

// id returns the ID that the engine gives to the image.
func (a *archive) id() string { return digest(a.config) }

// write writes the archive in the form that the engine reads.
func (a *archive) write(w io.Writer) error {
	manifest, err := json.Marshal([]struct {
		Config           string
		RepoTags, Layers []string
	}{{"config.json", []string{Endpoint}, []string{"layer.tar"}}})
	if err != nil {
		return err
	}
	whole, err := tarball(file{"layer.tar", a.layer, ""}, file{"config.json", a.config, ""},
		file{"manifest.json", manifest, ""})
	if err != nil {
		return err
	}
	_, err = w.Write(whole)
	return err
}

func digest(b []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(b)) }

// epoch is the time of every file: with the current time two builds would differ.
var epoch = time.Unix(0, 0).UTC()

type file struct {
	name string
	data []byte
	link string // where it leads to; "" is a file with data
}

func tarball(files ...file) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range files {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: 0o644, Size: int64(len(f.data)), ModTime: epoch,
			Format: tar.FormatUSTAR}
		if f.link != "" {
			h.Typeflag, h.Linkname = tar.TypeSymlink, f.link
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, fmt.Errorf("container: archive %s: %w", f.name, err)
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, fmt.Errorf("container: archive %s: %w", f.name, err)
		}
	}
	err := w.Close()
	return out.Bytes(), err
}
