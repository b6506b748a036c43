package arch

import (
	"io/fs"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

// README.md is read in one sitting, and no page has a line that a screen cuts off. Rows of tables and what programs say
// cannot be wrapped.
func TestPages(t *testing.T) {
	const longest = 140
	tree := os.DirFS("../../..")
	must := func(text []byte, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if n := strings.Count(must(fs.ReadFile(tree, "README.md")), "\n"); n > 120 {
		t.Errorf("README.md has %d lines, want 120 at most: what explains belongs to a help topic", n)
	}
	err := fs.WalkDir(tree, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		// what the program and make write
		case err == nil && d.IsDir() && (path == "runs" || path == "out" || path == ".git"):
			return fs.SkipDir
		case err != nil || d.IsDir() || !strings.HasSuffix(path, ".md"):
			return err
		}
		code := false
		for i, line := range strings.Split(must(fs.ReadFile(tree, path)), "\n") {
			code = code != strings.HasPrefix(strings.TrimSpace(line), "```")
			if n := utf8.RuneCountInString(line); n > longest && !code && !strings.HasPrefix(strings.TrimSpace(line),
				"|") {
				t.Errorf("%s:%d has %d columns, want %d at most", path, i+1, n, longest)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
