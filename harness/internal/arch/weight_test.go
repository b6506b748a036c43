package arch

import (
	"io/fs"
	"os"
	"strings"
	"testing"
)

// heaviest is the largest size of a file of the tree, in bytes: above any source or fixture, and below a built program.
const heaviest = 256 << 10

// TestWeight refuses large files, such as a program that was added by mistake.
func TestWeight(t *testing.T) {
	tree := os.DirFS(root)
	err := fs.WalkDir(tree, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if ignored(path) {
				return fs.SkipDir
			}
			return nil
		}
		info, err := entry.Info()
		if err == nil && info.Size() > heaviest && !ignored(path) {
			t.Errorf("%s has %d bytes, at most %d are allowed: a script makes it again, or it is not for the tree",
				path, info.Size(), heaviest)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// ignored reports whether .gitignore excludes a path.
func ignored(path string) bool {
	switch path {
	case ".git", "bin", "out", "runs", "gauntlet", "images/example-c/gbn":
		return true
	}
	return strings.HasSuffix(path, ".test") || strings.HasSuffix(path, ".prof")
}
