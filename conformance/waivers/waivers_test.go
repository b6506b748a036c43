package waivers

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/conformance/scenarios"
)

// TestShipped checks that every file parses and names rules and scenarios that exist.
func TestShipped(t *testing.T) {
	known := map[string]bool{}
	for _, r := range rules.All() {
		known[r.ID] = true
	}
	for _, name := range Names() {
		list, err := Read(name)
		if err != nil {
			t.Error(err)
		}
		for _, w := range list {
			if !known[w.Rule] {
				t.Errorf("%s waives %s, which is no rule", name, w.Rule)
			}
			for name := range strings.FieldsFuncSeq(w.In+","+w.Sure, func(r rune) bool { return r == ',' }) {
				name, _, _ := strings.Cut(name, "-qp") // a connection of it
				if name != "run" && !slices.ContainsFunc(append(scenarios.All(), scenarios.Device()...),
					func(s scenarios.Scenario) bool { return s.Name == name }) {
					t.Errorf("waiver of %s: %s is no scenario", w.Rule, name)
				}
			}
		}
	}
	if !slices.Contains(Names(), "rxe") {
		t.Errorf("names: %v, want rxe among them", Names())
	}
}

func TestReadNamesTheLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mine.txt")
	if err := os.WriteFile(path, []byte("# mine\nwaive X\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{path: "mine.txt:2: ", "nobody": "one of: rxe",
		"./nothing.txt": "want a file"} {
		if _, err := Read(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// Files are read in order, and the first that cannot be read is the error.
func TestReadAll(t *testing.T) {
	mine := filepath.Join(t.TempDir(), "mine.txt")
	if err := os.WriteFile(mine, []byte("waive GBN-NAK-002 impl=x owner=o expires=9999-12-31 : r\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	one, _ := Read("rxe")
	all, err := ReadAll([]string{"rxe", mine})
	if err != nil || len(all) != len(one)+1 || all[len(one)].Impl != "x" {
		t.Errorf("%d waivers, %v; want %d and one of x", len(all), err, len(one))
	}
	if _, err := ReadAll([]string{mine, "nobody"}); err == nil || !strings.Contains(err.Error(),
		"waivers nobody: want a file") {
		t.Errorf("%v", err)
	}
}
