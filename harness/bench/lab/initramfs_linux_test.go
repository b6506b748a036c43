package lab

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/u-root/u-root/pkg/cpio"
)

// built writes an initramfs and returns its bytes and the names in it.
func built(t *testing.T, r *initramfs) (raw []byte, names []string) {
	t.Helper()
	var b bytes.Buffer
	must(t, r.write(&b))
	records, err := cpio.ReadAllRecords(cpio.Newc.Reader(bytes.NewReader(b.Bytes())))
	must(t, err)
	for _, rec := range records {
		names = append(names, rec.Name)
	}
	return b.Bytes(), names
}

func TestInitramfsHasWhatWasNamed(t *testing.T) {
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "set", "of"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "set", "of", "files"), nil, 0o644))
	must(t, os.Symlink("set", filepath.Join(dir, "link")))
	r := newInitramfs()
	must(t, r.bring("sh"))
	script := filepath.Join(dir, "script")
	must(t, os.WriteFile(script, []byte("#!/usr/bin/env -S sh\n"), 0o755))
	must(t, r.bring(script))
	must(t, r.bring(filepath.Join(dir, "link")))
	must(t, r.order(&Order{Command: []string{"x"}}))
	_, names := built(t, r)
	for _, want := range []string{"dev/console", "proc", strings.TrimPrefix(orderPath, "/"), strings.TrimPrefix(dir,
		"/") + "/set/of/files", "usr/bin/env"} {
		if !slices.Contains(names, want) {
			t.Errorf("no %s in %q", want, names)
		}
	}
	for i, n := range names {
		if dir := filepath.Dir(n); dir != "." && !slices.Contains(names[:i], dir) {
			t.Errorf("%s comes before its folder", n)
		}
	}
}

// The same content gives the same bytes, whatever the order of adding and the times of the files.
func TestInitramfsIsReproducible(t *testing.T) {
	make := func(order ...string) []byte {
		r := newInitramfs()
		for _, path := range order {
			r.add(path, []byte(path), 0o644)
		}
		raw, _ := built(t, r)
		return raw
	}
	if !bytes.Equal(make("/a/b", "/c", "/a/d"), make("/c", "/a/d", "/a/b")) {
		t.Error("the bytes depend on the order")
	}
}

func TestBringNamesWhatIsMissing(t *testing.T) {
	for _, what := range []string{"no-such-program", "/no/such/file"} {
		if err := newInitramfs().bring(what); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
