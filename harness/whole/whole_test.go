package whole

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	for _, text := range []string{"first", "second, which is longer", ""} {
		if err := Write(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); string(got) != text || err != nil {
			t.Errorf("%q, %v; want %q", got, err, text)
		}
	}
	if err := Replace(path, []byte("third"), 0o640); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(path); string(got) != "third" || err != nil {
		t.Errorf("replaced: %q, %v", got, err)
	}
	if err := Write(filepath.Join(dir, "nowhere", "f"), nil, 0o640); !errors.Is(err, fs.ErrNotExist) ||
		strings.Contains(err.Error(), dir) {
		t.Errorf("into no folder: %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Write(filepath.Join(dir, "d"), []byte("x"), 0o640); err == nil || strings.Contains(err.Error(), dir) {
		t.Errorf("over a folder: %v", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("%v, %v: something is left", entries, err)
	}
}
