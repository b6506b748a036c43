package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/perf/history"
	"github.com/rdma-gauntlet/gauntlet/perf/history/store"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// A first night has nothing to compare with, a second changes nothing, and one behind another program's says what
// changed, as one entry, as text, JSON and a page.
func TestNight(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: starts the program")
	}
	dir := t.TempDir()
	plan := "night 1\nstore kept\nsite pages\n# fast\n" +
		"matrix --impl gbn --links clean,random --with 'load write msg=4KiB count=20'\nconform --impl gbn " +
		"--focus 'gbn loss-tail$'\n"
	must(t, os.WriteFile(filepath.Join(dir, "n.plan"), []byte(plan), 0o644))
	o := inProcess(t, dir, "night", "n.plan", "--night", "2026-11-22", "--commit", "aaaaaaa", "--out", "one", "--quiet")
	if o.code != 0 ||
		!strings.Contains(o.stdout, "0 series compared, nothing changed; 25 measured for the first time") {
		t.Fatalf("first: %+v", o)
	}
	o = inProcess(t, dir, "night", "n.plan", "--night", "2026-11-23", "--commit", "bbbbbbb", "--out", "two", "--quiet")
	if o.code != 0 || !strings.Contains(o.stdout, "25 series compared, nothing changed\n") ||
		strings.Contains(o.stdout, "→") {
		t.Errorf("second: %+v", o)
	}
	other(t, "kept")
	must(t, os.MkdirAll("kept/documents", 0o755))
	must(t, os.WriteFile("kept/documents/notes.txt", nil, 0o644))
	o = inProcess(t, dir, "night", "n.plan", "--night", "2026-11-25", "--commit", "ddddddd", "--out", "three", "--quiet",
		"--json")
	var n model.Night
	must(t, json.Unmarshal([]byte(o.stdout), &n))
	if o.code != exitFailure || n.Status != "FAIL" || len(n.Changes.Entries) != 1 ||
		len(n.Changes.Entries[0].Changes) != 2 ||
		n.Changes.Entries[0].Before != "ccccccc" ||
		n.Changes.Entries[0].Now != "ddddddd" {
		t.Errorf("third: exit %d, %+v", o.code, n.Changes)
	}
	if want := "kept/documents/notes.txt: skipped: not a document of a store"; !slices.Contains(n.Notes, want) ||
		!strings.Contains(page(t, "three/night.md"), "notes.txt") {
		t.Errorf("third: the notes are %q, without %q, or night.md has none", n.Notes, want)
	}
	must(t, os.Remove("kept/documents/notes.txt"))
	for _, want := range []string{"2 changes of 1 cause", "matrix gbn clean goodput", `href="./change-`} {
		if !strings.Contains(page(t, "pages/index.html"), want) {
			t.Errorf("the pages of the night lack %q", want)
		}
	}
	siteOf(t, dir, "kept", "three")
	page, err := os.ReadFile("three/night.md")
	if want := "| **regressed** | `matrix gbn clean goodput` |"; err != nil || !strings.Contains(string(page), want) {
		t.Errorf("%v: %s", err, page)
	}
	o = inProcess(t, dir, "store", "changes", "kept", "--night", "2026-11-24", "--markdown", "page.md")
	if o.code != exitFailure || !strings.Contains(o.stdout, "bbbbbbb → ccccccc: 2 changes") ||
		!strings.Contains(o.stdout, "new failure  matrix gbn random verdict: PASS → FAIL GBN-NAK-001") {
		t.Errorf("stored: %+v", o)
	}
	if o = inProcess(t, dir, "store", "changes", "kept", "--night", "2026-11-23"); o.code != 0 ||
		!strings.Contains(o.stdout, "nothing changed") {
		t.Errorf("stored: %+v", o)
	}
	if o = inProcess(t, dir, "night", "n.plan", "--out", "three"); o.code != exitUsage ||
		!strings.Contains(o.stderr, "three already holds a night") {
		t.Errorf("again: %+v", o)
	}
}

// other adds to a store the newest night as a program would have measured it that is twice as fast, and broke a rule.
func other(t *testing.T, dir string) {
	c, err := store.Read(dir)
	must(t, err)
	n := c.Nights[len(c.Nights)-1]
	n.Night, n.Started, n.Commit = "2026-11-24", "2026-11-24T01:00:00Z", "ccccccc"
	for i := range n.Points {
		switch p := &n.Points[i]; p.Name {
		case "matrix gbn clean goodput":
			p.Values = []float64{2 * p.Values[0]}
		case "matrix gbn random verdict":
			p.Word = "FAIL GBN-NAK-001"
		case "matrix gbn random packets":
			p.Class = history.Noisy // of which one night shows nothing
		}
	}
	_, err = store.Add(dir, &n)
	must(t, err)
}

// A plan that asks for what cannot be is one line, with the line of the plan, and nothing is added.
func TestNightRefuses(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{
		"":                                 "p.plan:0: no statement; want \"night 1\" first",
		"matrix --impl gbn":                "p.plan:1: matrix --impl gbn: want \"night 1\" as the first statement",
		"night 2":                          "p.plan:1: night 2: this program reads version 1",
		"night 1":                          "p.plan:1: nothing to run",
		"night 1\n\nfrobnicate x":          "p.plan:3: frobnicate: unknown; want one of budget build firmware",
		"night 1\nstore a\nstore b":        "p.plan:3: store: given twice",
		"night 1\nstore a b":               "p.plan:2: store a b: want one word",
		"night 1\nbudget soon":             "p.plan:2: budget soon: want 1 to 1440",
		"night 1\nbuild":                   "p.plan:2: build: want a value behind it",
		"night 1\nmatrix --json":           "p.plan:2: matrix --json: leave it out",
		"night 1\nmatrix --impl 'gbn":      "p.plan:2: matrix --impl 'gbn: a quote ' has no end",
		"night 1\nmatrix --impl nobody":    "p.plan:2: matrix: implementation \"nobody\": unknown",
		"night 1\nperf --frob":             "p.plan:2: perf: unknown flag: --frob",
		"night 1\nstore p.plan\nrun a.txt": "p.plan: not a directory",
	} {
		must(t, os.WriteFile(filepath.Join(dir, "p.plan"), []byte(text), 0o644))
		o := inProcess(t, dir, "night", "p.plan", "--out", "out", "--quiet")
		if o.code != exitUsage || !strings.Contains(o.stderr, want) || strings.Count(o.stderr, "\n") != 1 ||
			o.stdout != "" {
			t.Errorf("%q: exit %d, %s%s, want %q", text, o.code, o.stderr, o.stdout, want)
		}
	}
	must(t, os.WriteFile(filepath.Join(dir, "p.plan"), []byte("night 1\nrun a.txt\n"), 0o644))
	for words, want := range map[string]string{"none.plan": "none.plan: no such file",
		"p.plan --color red": "--color", "p.plan --night today": "want a day"} {
		if o := inProcess(t, dir, append([]string{"night"}, strings.Fields(words)...)...); o.code != exitUsage ||
			!strings.Contains(o.stderr, want) {
			t.Errorf("night %s: %+v", words, o)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "nights")); err == nil {
		t.Error("a store was made")
	}
}

// A mistake in a later command loses nothing: a flag that does not exist is found before anything runs, and what was
// measured before a value that cannot be is kept.
func TestNightKeepsWhatWasMeasured(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: starts the program")
	}
	dir := t.TempDir()
	const good = "night 1\nmatrix --impl gbn --links clean --with 'load write msg=4KiB count=20'\n"
	for text, want := range map[string]string{
		"perf --frob\n": "p.plan:3: perf: unknown flag: --frob",
		"conform --impl nobody\nconform --impl gbn --focus 'gbn loss-tail$'\n": "p.plan:3: conform: implementation " +
			"\"nobody\": unknown",
	} {
		must(t, os.RemoveAll(filepath.Join(dir, "nights")))
		must(t, os.RemoveAll(filepath.Join(dir, "out")))
		must(t, os.WriteFile(filepath.Join(dir, "p.plan"), []byte(good+text), 0o644))
		o := inProcess(t, dir, "night", "p.plan", "--out", "out", "--quiet")
		if o.code != exitUsage || !strings.Contains(o.stderr, want) || strings.Count(o.stderr, "\n") != 1 {
			t.Errorf("%q: %+v, want %q", text, o, want)
		}
		c, err := store.Read(filepath.Join(dir, "nights"))
		if strings.HasPrefix(text, "perf") {
			if err == nil || o.stdout != "" {
				t.Errorf("something ran: %+v, %+v", c, o)
			}
			continue
		}
		must(t, err)
		if len(c.Nights) != 1 || !strings.Contains(page(t, filepath.Join(dir, "out", "night.md")), "nobody") ||
			!slices.ContainsFunc(c.Nights[0].Points, func(p history.Point) bool {
				return strings.HasPrefix(p.Name, "conform gbn loss-tail")
			}) {
			t.Errorf("%+v", c.Nights)
		}
	}
}

// A search that cannot begin is one line.
func TestBisectRefuses(t *testing.T) {
	dir := t.TempDir()
	for words, want := range map[string]string{
		"a b --build true":                          "requires at least 3 arg",
		"a b -- matrix":                             "required flag(s) \"build\" not set",
		"a b --build true -- list":                  "bisect: list: unknown; want one of conform gate matrix perf run",
		"a b --build true -- matrix --json":         "matrix --json: leave it out",
		"a b --build true -- matrix":                "bisect: git rev-parse: exit status",
		"a b --build true --color red -- matrix":    "--color",
		"a b --build true --store none -- matrix x": "store add makes a store",
	} {
		o := inProcess(t, dir, append([]string{"bisect"}, strings.Fields(words)...)...)
		if o.code != exitUsage || !strings.Contains(o.stderr, want) || strings.Count(o.stderr, "\n") != 1 {
			t.Errorf("bisect %s: %+v, want %q", words, o, want)
		}
	}
}

// nightStore are the files of a store by name, and the bytes of all of them.
func nightStore(t *testing.T, dir string) (all string) {
	t.Helper()
	for _, name := range glob(t, filepath.Join(dir, "*")) {
		all += filepath.Base(name) + "\n" + page(t, name)
	}
	return all
}

// glob are the files of a pattern.
func glob(t *testing.T, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	must(t, err)
	return names
}

// Shards of a night leave, merged, the store that one machine does, byte by byte; a result that is missing is named,
// and what is of one host cannot be divided.
func TestNightInShards(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: starts the program")
	}
	dir := t.TempDir()
	plan := "night 1\nhost all\nstore kept\n" +
		"matrix --impl gbn,irn --links clean,random --with 'load write msg=4KiB count=20'\n" +
		"conform --impl gbn --focus 'gbn loss-'\nrun --impl gbn --rate 100M --msg 4KiB --count 3\n"
	must(t, os.WriteFile(filepath.Join(dir, "n.plan"), []byte(plan), 0o644))
	day := []string{"night", "n.plan", "--night", "2026-11-22", "--commit", "aaaaaaa", "--quiet"}
	if o := inProcess(t, dir, append(day, "--units", "alone", "--out", "one")...); o.code != 0 {
		t.Fatalf("alone: %+v", o)
	}
	want := nightStore(t, "kept")
	if n := strings.Count(want, "\n"); n < 60 {
		t.Fatalf("%d lines: %s", n, want)
	}
	must(t, os.Rename("kept", "alone-kept"))
	for _, shard := range []string{"1/3", "3/3"} {
		o := inProcess(t, dir, append(day, "--shard", shard, "--units", "u"+shard[:1])...)
		if o.code != 0 || !strings.Contains(o.stdout, " runs made, 0 were there") ||
			strings.Contains(o.stdout, ": 0 runs made") {
			t.Fatalf("shard %s: %+v", shard, o)
		}
	}
	o := inProcess(t, dir, "merge", "u1", "u3")
	if o.code != exitBroken || !strings.Contains(o.stderr, "have no result: ") {
		t.Errorf("without shard 2: %+v", o)
	}
	if _, err := os.Stat("kept"); err == nil {
		t.Error("a store was made of a part")
	}
	t.Setenv("GAUNTLET_SHARD_INDEX", "1")
	t.Setenv("GAUNTLET_SHARD_TOTAL", "3")
	if o = inProcess(t, dir, append(day, "--shard", "auto", "--units", "u2")...); o.code != 0 {
		t.Fatalf("shard 2: %+v", o)
	}
	o = inProcess(t, dir, "merge", "u1", "u2", "u3", "--", "--out", "merged", "--quiet")
	if units := len(glob(t, "alone/*.unit")) + len(glob(t, "alone/*/*.unit")); o.code != 0 ||
		!strings.Contains(o.stderr, fmt.Sprintf(": %d units, ", units)) {
		t.Fatalf("merge: %+v", o)
	}
	if got := nightStore(t, "kept"); got != want {
		t.Errorf("the stores differ:\n%s\n%s", got, want)
	}
	for text, want := range map[string]string{
		"night 1\nmatrix --bench netns\n":   "p.plan:2: matrix: --units keeps what virtual time gives",
		"night 1\nmatrix --units x\n":       "p.plan:2: matrix --units: leave it out",
		"night 1\nmatrix --links nowhere\n": "nowhere",
	} {
		must(t, os.WriteFile("p.plan", []byte(text), 0o644))
		o := inProcess(t, dir, "night", "p.plan", "--night", "2026-11-22", "--shard", "1/2", "--units", "v", "--quiet")
		if o.code != exitUsage || !strings.Contains(o.stderr, want) || strings.Count(o.stderr, "\n") != 1 {
			t.Errorf("%q: %+v, want %q", text, o, want)
		}
	}
	if o = inProcess(t, dir, "night", "n.plan", "--shard", "1/2", "--units", "w"); o.code != exitUsage ||
		!strings.Contains(o.stderr, "add --night DAY") {
		t.Errorf("without a day: %+v", o)
	}
}
