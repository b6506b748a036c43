package rules

import (
	"embed"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// book holds the texts about rules: the about.txt files and the fixtures. They are parsed when they are asked for.
//
//go:embed */about.txt */testdata/*/pass*.trace */testdata/*/fail*.trace
var book embed.FS

// About returns the paragraph about a rule or a family in an about.txt, headed by its ID: for a rule the usual causes
// of a violation, a line each; for a family the behaviour that it judges. It returns nil for an unknown ID.
func About(id string) []string {
	files, _ := fs.Glob(book, "*/about.txt") // the pattern is a constant and right
	for _, name := range files {
		text, _ := book.ReadFile(name)
		if _, from, found := strings.Cut("\n"+string(text), "\n"+id+"\n"); found {
			paragraph, _, _ := strings.Cut(from, "\n\n")
			return strings.Split(strings.TrimSpace(paragraph), "\n")
		}
	}
	return nil
}

// Fixture is a trace written by hand that keeps or breaks a rule.
type Fixture struct {
	Name string // "pass_crossing"; a name that begins with fail breaks the rule
	Text []byte
}

// Fixtures returns the fixtures of the rule with this ID, the plainest passing and failing ones first.
func Fixtures(id string) (list []Fixture) {
	files, _ := fs.Glob(book, "*/testdata/"+id+"/*.trace")
	for _, name := range files {
		text, _ := book.ReadFile(name)
		list = append(list, Fixture{strings.TrimSuffix(path.Base(name), ".trace"), text})
	}
	slices.SortStableFunc(list, func(a, b Fixture) int { return a.size() - b.size() })
	return list
}

// size orders fixtures by their length, with those named pass and fail before all others.
func (f *Fixture) size() int {
	if f.Name == "pass" || f.Name == "fail" {
		return 0
	}
	return len(f.Text)
}
