package all

import (
	"os"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
)

// TestEveryRuleIsCaught compares the catalogue with the variants.
func TestEveryRuleIsCaught(t *testing.T) {
	known, catches := map[string]bool{}, map[string]bool{}
	for _, f := range Families() {
		for _, v := range f.Variants {
			for _, id := range v.Catches {
				catches[id] = true
			}
		}
	}
	for _, r := range rules.All() {
		known[r.ID] = true
		if _, excused := Uncaught[r.ID]; r.Unbuilt == "" && catches[r.ID] == excused {
			t.Errorf("%s: no variant breaks it, or one does and it is excused", r.ID)
		}
	}
	for id := range catches {
		if !known[id] {
			t.Errorf("%s: there is no such rule", id)
		}
	}
}

// TestEveryPackageIsListed compares the list with the folders: each has a family, except this one.
func TestEveryPackageIsListed(t *testing.T) {
	dirs, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	n := -1
	for _, d := range dirs {
		if d.IsDir() {
			n++
		}
	}
	if n != len(Families()) {
		t.Errorf("%d families are listed, and there are packages for %d", len(Families()), n)
	}
}
