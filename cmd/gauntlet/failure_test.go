package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// documents returns the JSON documents of a text, and ends the test on anything else in it.
func documents(t *testing.T, text string) (all []map[string]any) {
	t.Helper()
	for in := json.NewDecoder(strings.NewReader(text)); ; {
		var one map[string]any
		err := in.Decode(&one)
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		all = append(all, one)
	}
}

// With --json, a command that fails before it has a result prints one JSON object, whatever the failure.
func TestNoResultIsAnObject(t *testing.T) {
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "held"), 0o755))
	for _, name := range []string{"result.json", "matrix.json", "qualification.json"} {
		must(t, os.WriteFile(filepath.Join(dir, "held", name), []byte("{}\n"), 0o644))
	}
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"run --json --out held", 2, "held already holds a result; choose another folder"},
		{"run --json --impl rciwarp --param tcp=kernel", 2, "virtual time has no kernel"},
		{"run --json nothing.txt", 2, "nothing.txt"},
		{"run --json --nope", 2, "unknown flag: --nope"},
		{"run --nope --json", 2, "unknown flag: --nope"},
		{"run --json --out /dev/null/x", 3, "not a directory"},
		{"matrix --json --out held --impl gbn --links clean", 2, "held already holds a matrix"},
		{"matrix --json --links nope", 2, `link "nope": unknown`},
		{"qualify --json --impl irn --profile irn --out held", 2, "held already holds a qualification"},
		{"qualify --json --profile nope", 2, "--impl"},
		{"perf --json --class Q", 2, "--class"},
		{"perf compare --json a b", 2, "no such file"},
		{"atlas --json --jobs 0", 2, "--jobs 0"},
		{"figures --json nope", 2, "nope"},
		{"judge --json --scheme nope .", 2, "--scheme"},
		{"datasheet --json", 2, "name a trace"},
		{"list impls --json x", 2, "unknown command"},
	} {
		start := inProcess
		if strings.HasSuffix(c.says, "a qualification") { // reading a qualification registers the scenarios
			start = gauntlet
		}
		o := start(t, dir, strings.Fields(c.args)...)
		var f model.Failure
		if all := documents(t, o.stdout); len(all) != 1 {
			t.Errorf("%s: %d documents on standard output, want 1", c.args, len(all))
			continue
		}
		must(t, json.Unmarshal([]byte(o.stdout), &f))
		if o.code != c.code || f.Exit != c.code || f.Status != "ERROR" || f.Format != model.FormatVersion ||
			f.Version == "" || !strings.Contains(f.Error, c.says) {
			t.Errorf("%s: exit %d, %+v; want exit %d and %q", c.args, o.code, f, c.code, c.says)
		}
		if o.stderr != "gauntlet: "+f.Error+"\n" {
			t.Errorf("%s: stderr %q, want one line with the error", c.args, o.stderr)
		}
	}
	if names := left(t, dir); len(names) != 1 {
		t.Errorf("left behind: %v", names)
	}
}

// A result that was printed is the only document also when something fails afterwards.
func TestAResultStaysAlone(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "short.txt"),
		[]byte("link rate=1M delay=1ms\nload write msg=1MiB count=100\nrun limit=100ms\n"), 0o644))
	for args, code := range map[string]int{
		"run short.txt --json": 1,
		"matrix --json --impl gbn --links clean --with run\xa0limit=1ms --out m":                                     1,
		"matrix --json --impl gbn --links clean --out n --html /dev/null/x/y.html":                                   3,
		"atlas --json --rtt 1ms --loss 1e-2 --burst 1 --rate 10M --impl gbn,irn --seeds 1 --quiet --out /dev/null/x": 3,
	} {
		words := strings.Fields(args)
		for i := range words {
			words[i] = strings.ReplaceAll(words[i], "\xa0", " ")
		}
		o := gauntlet(t, dir, words...)
		if all := documents(t, o.stdout); o.code != code || len(all) != 1 || all[0]["error"] != nil {
			t.Errorf("%s: exit %d, %d documents: %.200s", args, o.code, len(all), o.stdout)
		}
	}
}

// With --json FILE, conform removes an old report when the run fails, so that it is not taken for the new one.
func TestNoReportIsAnObject(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "report.json")
	must(t, os.WriteFile(path, []byte("[]\n"), 0o644))
	o := gauntlet(t, dir, "conform", "--impl", "nope", "--json", path)
	text, err := os.ReadFile(path)
	must(t, err)
	if all := documents(t, string(text)); o.code != 2 || o.stdout != "" || len(all) != 1 ||
		all[0]["status"] != "ERROR" || all[0]["exit"] != 2. {
		t.Errorf("exit %d, stdout %q, report %s", o.code, o.stdout, text)
	}
}
