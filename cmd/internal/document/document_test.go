package document

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// What can be written is written, also when something else cannot.
func TestFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	torn := errors.New("torn")
	err := Folder(dir, []Document{
		{Name: "torn.txt", Write: func(io.Writer) error { return torn }},
		{Name: "list.json", Write: func(w io.Writer) error { return JSON(w, []int{1}) }},
	})
	if !errors.Is(err, torn) {
		t.Errorf("%v, want %v", err, torn)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "list.json")); err != nil || string(text) != "[\n  1\n]\n" {
		t.Errorf("%q, %v", text, err)
	}
}
