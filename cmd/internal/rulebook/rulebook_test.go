package rulebook

import (
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
)

// TestEveryRuleIsExplained: every rule that can fail has its sentence, the requirement, a trace that keeps it, a trace
// that breaks it with the findings, and the broken engine that proves it.
func TestEveryRuleIsExplained(t *testing.T) {
	b, err := Of(IDs())
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, f := range b.Families {
		for _, e := range f.Rules {
			n++
			if f.Name == "META" || e.Unbuilt != "" {
				continue
			}
			for what, is := range map[string]bool{
				"title":                     e.Title != "",
				"requirement with a source": e.Source.Requirement != "" && e.Source.Ref != "",
				"place to see it from":      len(e.Needs) > 0,
				"trace that keeps it":       e.Kept != nil && len(e.Kept.Findings) == 0,
				"trace that breaks it":      e.Broken != nil && len(e.Broken.Findings) > 0,
				"engine that is caught":     len(e.Engines) > 0 || e.Uncaught != "",
				"drawing of bounded length": e.Broken != nil && strings.Count(e.Broken.Ladder, "\n") <= linesShown+2,
				"packet that shows it drawn": e.Broken != nil && (!strings.HasPrefix(e.Broken.Findings[0], "packet ") ||
					strings.Contains(e.Broken.Ladder, "  <== "+e.ID)),
			} {
				if !is {
					t.Errorf("%s: no %s", e.ID, what)
				}
			}
		}
	}
	if n != len(IDs()) {
		t.Errorf("%d rules, want %d", n, len(IDs()))
	}
}

// TestExamplesAreWhole: an example has the comment of its fixture, the given features and orders, and the text lines
// that a ladder does not draw, each once.
func TestExamplesAreWhole(t *testing.T) {
	b, err := Of([]string{"RC-PSN-005", "GBN-NAK-002", "WRK-WIRE-001"})
	if err != nil {
		t.Fatal(err)
	}
	psn, nak, work := b.Families[0].Rules[0], b.Families[1].Rules[0], b.Families[2].Rules[0]
	if l := psn.Broken.Ladder; !strings.Contains(l, "va=0x2000  <== RC-PSN-005") || strings.Contains(l, "|  len=") {
		t.Errorf("the ladder of %s lacks an address, or says twice what it draws:\n%s", psn.ID, l)
	}
	if a := nak.Kept.About; !strings.HasPrefix(a, "One NAK for the whole gap") || len(nak.Kept.Given) > 0 {
		t.Errorf("%s is about %q, given %v", nak.ID, a, nak.Kept.Given)
	}
	if g := work.Broken.Given; len(g) != 1 || !strings.HasPrefix(g[0], "order A ") || work.Broken.About != "" {
		t.Errorf("%s is given %q, about %q", work.ID, g, work.Broken.About)
	}
}

// TestExamplesFollowTheirNames: the book holds only examples of keeping or of breaking a rule.
func TestExamplesFollowTheirNames(t *testing.T) {
	for _, r := range rules.All() {
		for _, f := range rules.Fixtures(r.ID) {
			if pass, fail := strings.HasPrefix(f.Name, "pass"), strings.HasPrefix(f.Name, "fail"); pass == fail {
				t.Errorf("%s: fixture %s is of neither kind", r.ID, f.Name)
			}
		}
	}
}

func TestMatch(t *testing.T) {
	for word, want := range map[string]int{"RC-PSN-005": 1, "rc-psn-005": 1, "RC-PSN": 6, "rc-psn-": 6, "RC": 47,
		"R": 0, "RC-PSN-00": 0, "nak": 0} {
		if got := Match(word); len(got) != want {
			t.Errorf("%q means %d rules, want %d: %v", word, len(got), want, got)
		}
	}
}

func TestSearch(t *testing.T) {
	if got := Search([]string{"2^24", "msn"}); !slices.Contains(got, "RC-MSN-001") || len(got) > 5 {
		t.Errorf("2^24 msn: %v", got)
	}
	if got := Search([]string{"no such words"}); got != nil {
		t.Errorf("found %v", got)
	}
}

func TestNear(t *testing.T) {
	for word, want := range map[string]string{"RC-PSM-005": "RC-PSN-005", "GBN-NACK-002": "GBN-NAK-002",
		"rc-psn-05": "RC-PSN-005", "LOAR-NEG-001": "LOWAR-NEG-001"} {
		if got := Near(word); len(got) == 0 || got[0] != want {
			t.Errorf("%q is like %v, want %s", word, got, want)
		}
	}
	if got := Near("banana split"); got != nil {
		t.Errorf("like a banana: %v", got)
	}
}

func TestNeeds(t *testing.T) {
	for v, want := range map[rule.Vantage]string{
		rule.TapRequester:               "the requester's tap",
		rule.TapRequester | rule.Frames: "any one tap, at a port or between the ports",
		rule.Both | rule.Stores:         "the requester's tap; the responder's tap; placement events",
	} {
		if got := strings.Join(needs(v), "; "); got != want {
			t.Errorf("%b: %q, want %q", v, got, want)
		}
	}
}
