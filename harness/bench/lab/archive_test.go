package lab

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestArchiveRoundTrip(t *testing.T) {
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "out", "deep"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "out", "deep", "a"), []byte("A"), 0o600))
	must(t, os.Symlink("/etc/passwd", filepath.Join(dir, "out", "link")))
	paths := []string{filepath.Join(dir, "out"), filepath.Join(dir, "never made")}
	var b bytes.Buffer
	must(t, pack(&b, paths))
	must(t, os.RemoveAll(filepath.Join(dir, "out")))
	must(t, unpack(&b, paths))
	if raw, err := os.ReadFile(filepath.Join(dir, "out", "deep", "a")); err != nil || string(raw) != "A" {
		t.Errorf("%q %v", raw, err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "out", "link")); err == nil {
		t.Error("a symbolic link came through")
	}
}

// A guest cannot write outside the folder of the host that it was given.
func TestUnpackRefusesOtherPaths(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{dir + "/outer", dir + "/out/../x", "out/a", "/etc/x"} {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		must(t, w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644}))
		must(t, w.Close())
		if err := unpack(&b, []string{dir + "/out"}); err == nil || !strings.Contains(err.Error(), "is not an output") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
