package rules

import (
	"embed"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// book is what there is to read about rules: what people have written down, and the fixtures. Nothing of it is parsed
// before it is asked for.
//
//go:embed */about.txt */testdata/*/pass*.trace */testdata/*/fail*.trace
var book embed.FS

// About returns what people have written down about a rule or a family: of a rule what usually makes a device break it,
// a line for each cause; of a family whose behaviour it is about. In about.txt each has a paragraph, headed by its ID.
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

// Fixture is a trace written by hand that shows a rule kept or broken.
type Fixture struct {
	Name string // "pass_crossing"; what begins with fail breaks the rule
	Text []byte
}

// Fixtures returns those of the rule with this ID. Of those that keep the rule and of those that break it, the plainest
// comes first.
func Fixtures(id string) (list []Fixture) {
	files, _ := fs.Glob(book, "*/testdata/"+id+"/*.trace")
	for _, name := range files {
		text, _ := book.ReadFile(name)
		list = append(list, Fixture{strings.TrimSuffix(path.Base(name), ".trace"), text})
	}
	slices.SortStableFunc(list, func(a, b Fixture) int { return a.size() - b.size() })
	return list
}

// size orders fixtures by how much there is to read: those that are called by nothing but their verdict show the rule
// itself.
func (f *Fixture) size() int {
	if f.Name == "pass" || f.Name == "fail" {
		return 0
	}
	return len(f.Text)
}
