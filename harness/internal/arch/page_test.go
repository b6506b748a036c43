package arch

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// widest is the largest width of a line by kind of file, in columns; a tab counts as one.
var widest = map[string]int{".go": 120, ".md": 140}

// README.md has a bounded length, and no line of a file is wider than a screen. Rows of tables and output of programs
// are exempt, because they cannot be wrapped.
func TestLinesFitTheScreen(t *testing.T) {
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
		// files that the program and make write
		case err == nil && d.IsDir() && (path == "runs" || path == "out" || path == ".git"):
			return fs.SkipDir
		case err != nil || d.IsDir() || widest[filepath.Ext(path)] == 0:
			return err
		}
		for _, i := range wide(must(fs.ReadFile(tree, path)), filepath.Ext(path)) {
			t.Errorf("%s:%d is wider than %d columns", path, i, widest[filepath.Ext(path)])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// wide returns the numbers of the lines of a text that are too wide for their kind of file.
func wide(text, kind string) []int {
	var lines []int
	code := false
	for i, line := range strings.Split(text, "\n") {
		start := strings.TrimSpace(line)
		code = code != (kind == ".md" && strings.HasPrefix(start, "```"))
		fixed := code || kind == ".md" && strings.HasPrefix(start, "|")
		if utf8.RuneCountInString(line) > widest[kind] && !fixed {
			lines = append(lines, i+1)
		}
	}
	return lines
}

func TestWide(t *testing.T) {
	long := strings.Repeat("é", 121)
	if got := wide("a\n"+long+"\n"+long[2:], ".go"); !slices.Equal(got, []int{2}) {
		t.Errorf("of Go: %v, want line 2", got)
	}
	long += long
	if got := wide("| "+long+"\n```\n"+long+"\n```\n"+long, ".md"); !slices.Equal(got, []int{5}) {
		t.Errorf("of a page: %v, want line 5", got)
	}
}
