package profiles

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
	"github.com/rdma-gauntlet/gauntlet/perf/targets"
)

// The objects that a profile names exist: rules that can be judged, a reference that would qualify, and a claim whose
// bound limits the difference of two implementations.
func TestProfilesOfTheProgram(t *testing.T) {
	known := map[string]rule.Rule{}
	families := map[string]bool{}
	for _, r := range rules.All() {
		family, _, _ := strings.Cut(r.ID, "-")
		known[r.ID], families[family] = r, true
	}
	if len(Names()) < 10 || !slices.IsSorted(Names()) {
		t.Errorf("profiles %v", Names())
	}
	for _, p := range All() {
		if _, err := Parse(p.Name, text(t, p.Name)); err != nil {
			t.Error(err)
		}
		reference, ok := all.Find(p.Reference)
		if missing := p.Missing(reference.Declares()); !ok || missing != "" {
			t.Errorf("%s: reference %q, %t, does not declare %q", p.Name, p.Reference, ok, missing)
		}
		for _, f := range p.Families {
			if !families[f] {
				t.Errorf("%s: family %s has no rules", p.Name, f)
			}
		}
		for _, id := range p.Core {
			r, ok := known[id]
			if !ok || r.Unbuilt != "" || !p.Requires(id, r.Level) || !r.AppliesTo(reference.Declares()) {
				t.Errorf("%s: core rule %s is not there, not built, not binding, or not for %s",
					p.Name, id, p.Reference)
			}
		}
		for _, target := range p.Targets {
			checkTarget(t, &p, &target)
		}
	}
}

func text(t *testing.T, name string) string {
	t.Helper()
	b, err := files.ReadFile(name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func checkTarget(t *testing.T, p *Profile, target *Target) {
	t.Helper()
	claims, err := targets.Find(targets.All(), []string{target.Claim})
	if err != nil || len(claims) != 1 {
		t.Fatalf("%s: target %s: %d claims, %v", p.Name, target.Name, len(claims), err)
	}
	c, err := claims[0].Find(target.Check)
	if err != nil {
		t.Fatalf("%s: target %s: %v", p.Name, target.Name, err)
	}
	least, err := c.Least()
	if err != nil || least < 0.7 || least > 1 {
		t.Errorf("%s: target %s: at least %g of the reference, %v", p.Name, target.Name, least, err)
	}
	if s, err := target.Spec(); err != nil || len(s.Warnings()) > 0 || s.For == 0 {
		t.Errorf("%s: target %s: %v, %v", p.Name, target.Name, err, s.Warnings())
	}
}

// good is a profile that is complete.
const good = "# Mine.\ndeclares rc gbn\nreference gbn\nfamilies RC GBN\ncore GBN-NAK-001\ntarget t PT-LW-01 : a " +
	"check\n# why\nload write msg=1KiB count=1\n"

func TestParse(t *testing.T) {
	p, err := Parse("mine", good)
	if err != nil || p.Title != "Mine" || p.Filter() != "family:RC || family:GBN" || p.Targets[0].Check != "a check" ||
		p.Targets[0].Text != "load write msg=1KiB count=1\n" {
		t.Errorf("%+v, %v", p, err)
	}
	if p.Missing([]string{"rc"}) != "gbn" || p.Missing([]string{"gbn", "x", "rc"}) != "" {
		t.Error("what is declared is not told from what is missing")
	}
	for id, want := range map[string]bool{"GBN-NAK-002": true, "GB1-RTX-001": false} {
		if p.Requires(id, rule.Must) != want || p.Requires(id, rule.Should) || p.IsCore(id) {
			t.Errorf("%s", id)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"# Mine.", "", "want a comment as title"},
		{"declares rc gbn", "", "and the lines declares and reference"},
		{"families RC GBN", "", "want families of rules"},
		{"core GBN-NAK-001", "", "core rules among them"},
		{"core GBN-NAK-001", "core FASR-LC-001", "core rule FASR-LC-001 is of no family"},
		{"reference gbn", "reference", "want a word and its values"},
		{"reference gbn", "like gbn", `mine: 3: "like": want declares`},
		{"PT-LW-01 : a check", "", "want target NAME CLAIM"},
		{"PT-LW-01 : a check", "PT-LW-01 a check", "want target NAME CLAIM"},
		{"load write", "load fly", "target t: line 1"},
	} {
		if _, err := Parse("mine", strings.Replace(good, c.old, c.new, 1)); err == nil || !strings.Contains(err.Error(),
			c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q for %q: %v, want %q in one line", c.new, c.old, err, c.want)
		}
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"mine.txt": good, "big.txt": strings.Repeat("#\n", mostText)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if p, err := Find(filepath.Join(dir, "mine.txt")); err != nil || p.Name != "mine" {
		t.Error(p.Name, err)
	}
	for name, want := range map[string]string{"nope": "known: fasr", dir + "/none": "no such file",
		dir + "/big.txt": "bytes at most", dir + "/": "want a file"} {
		if _, err := Find(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// The parser panics on no text, and an accepted text has rules that count.
func FuzzParse(f *testing.F) {
	f.Add(good)
	f.Add("target\n")
	f.Add("target a b :\nqp\n")
	f.Add("# x\ndeclares\n")
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := Parse("x", text); err == nil && (len(p.Core) == 0 || len(p.Families) == 0 || p.Title == "") {
			t.Errorf("%q is accepted as %+v", text, p)
		}
	})
}
