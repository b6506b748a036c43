package document

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// A failed document does not prevent the others from being written.
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

// A folder has the name that was asked for, or a new name that tells which command wrote it.
func TestNewFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	if got := NewFolder("mine", "atlas"); got != "mine" {
		t.Errorf("%q", got)
	}
	dir := NewFolder("", "gbn", "sim")
	if ok, _ := filepath.Match(filepath.Join("runs", "????????-??????-gbn-sim"), dir); !ok {
		t.Errorf("%q", dir)
	}
	for _, want := range []string{dir, dir + "-2", dir + "-3"} {
		got := Free(dir)
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if err := os.MkdirAll(got, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if got := NewFolder("", "gbn", "sim"); got == dir {
		t.Errorf("%q exists", got)
	}
}

// Processes that begin in the same second have a folder each.
func TestClaim(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "runs", "night")
	var group sync.WaitGroup
	names := make([]string, 16)
	for i := range names {
		group.Go(func() {
			var err error
			if names[i], err = Claim(dir); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	slices.Sort(names)
	if len(slices.Compact(names)) != 16 || names[0] != dir {
		t.Errorf("%q", names)
	}
	if _, err := Claim(filepath.Join(os.DevNull, "runs", "night")); err == nil {
		t.Error("a folder below a device")
	}
}
