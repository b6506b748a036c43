package rules

import (
	"io/fs"
	"strings"
	"testing"
)

// longestCause bounds a cause in bytes, because causes are shown in a list.
const longestCause = 190

// TestEveryRuleSaysWhatBreaksIt checks that about.txt has the usual causes of each rule that can fail, as short
// sentences, and no paragraph about anything else.
func TestEveryRuleSaysWhatBreaksIt(t *testing.T) {
	known := map[string]bool{}
	for _, r := range All() {
		family, _, _ := strings.Cut(r.ID, "-")
		known[r.ID], known[family] = true, true
		if len(About(family)) != 1 {
			t.Errorf("%s: want one sentence about the family in its about.txt, got %q", family, About(family))
		}
		if r.Unbuilt == "" && len(About(r.ID)) == 0 {
			t.Errorf("%s: no paragraph in the family's about.txt says what usually breaks it", r.ID)
		}
		for _, c := range About(r.ID) {
			if !strings.HasSuffix(c, ".") || len(c) > longestCause {
				t.Errorf("%s: want a sentence of at most %d bytes: %q", r.ID, longestCause, c)
			}
		}
	}
	files, err := fs.Glob(book, "*/about.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		text, _ := book.ReadFile(name)
		for paragraph := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
			if id, _, _ := strings.Cut(paragraph, "\n"); !known[id] {
				t.Errorf("%s: %q is no rule and no family", name, id)
			}
		}
	}
}
