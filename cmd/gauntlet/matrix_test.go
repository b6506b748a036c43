package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

func readMatrix(t *testing.T, text []byte) *model.Matrix {
	t.Helper()
	var m model.Matrix
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return &m
}

func TestMatrix(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "mine.txt"), []byte("# My link.\nloss random p=2%\n"), 0o644))
	o := gauntlet(t, dir, "matrix", "--links", "clean,./mine.txt", "--with", "load write msg=8KiB count=20", "--seed",
		"4", "--out", "m", "--html", "page/")
	names := all.Names()
	if o.code != 0 || !strings.HasPrefix(o.stdout, "PASS  ") || strings.Contains(o.stdout, "\x1b") ||
		strings.Count(o.stderr, "PASS\n") != 2*len(names) {
		t.Fatalf("exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	for l := range strings.Lines(o.stdout) {
		if len([]rune(strings.TrimSpace(l))) > 100 {
			t.Errorf("wider than 100 columns: %s", l)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "m", "matrix.json"))
	must(t, err)
	m := readMatrix(t, text)
	if !slices.Equal(m.Impls, names) || len(m.Cells) != 2*len(names) || m.Links[1].Name != "mine" || m.Seed != 4 {
		t.Errorf("%v, %d cells, links %v", m.Impls, len(m.Cells), m.Links)
	}
	for _, c := range m.Cells {
		impl, _ := all.Find(c.Impl)
		lossy := c.Lost > 0 && slices.Contains(impl.Features, engine.Unreliable) // lost messages are not sent again
		if c.Messages != 20 && !lossy || c.Messages > 20 || (c.Lost > 0) != (c.Link == "mine") {
			t.Errorf("%s over %s: %d messages, %d lost", c.Impl, c.Link, c.Messages, c.Lost)
		}
		if o := gauntlet(t, dir, "judge", c.Folder, "--json"); o.code != 0 ||
			o.result(t).Retransmitted != c.Retransmitted {
			t.Errorf("judged again: exit %d, %s", o.code, o.stderr)
		}
	}
	for _, file := range []string{"m/matrix.md", "m/matrix.html", "page/matrix.html"} {
		if text, err := os.ReadFile(filepath.Join(dir, file)); err != nil || !strings.Contains(string(text), "mine") {
			t.Errorf("%s: %v", file, err)
		}
	}
	if again := gauntlet(t, dir, "matrix", "--out", "m"); again.code != 2 || !strings.Contains(again.stderr,
		"already holds a matrix") {
		t.Errorf("into the same folder: exit %d, %s", again.code, again.stderr)
	}
}

// Two implementations at the two ends, with the result as JSON.
func TestMatrixOfPairsAsJSON(t *testing.T) {
	dir := t.TempDir()
	o := gauntlet(t, dir, "matrix", "--impl", "gbn+gobackone", "--links", "random", "--json", "--quiet", "--out", "m")
	m := readMatrix(t, []byte(o.stdout))
	if o.code != 0 || o.stderr != "" || m.Cell("gbn+gobackone", "random") == nil || m.Status != "PASS" {
		t.Errorf("exit %d, %+v, %s", o.code, m, o.stderr)
	}
	if again := gauntlet(t, dir, "judge", m.Cells[0].Folder, "--json"); again.code != 0 || m.Cells[0].Lost == 0 {
		t.Errorf("judged again: exit %d, %v", again.code, again.result(t).Reason)
	}
}

// A cell that cannot finish fails the matrix and is in the table.
func TestMatrixExitCodes(t *testing.T) {
	dir := t.TempDir()
	o := gauntlet(t, dir, "matrix", "--impl", "gbn", "--links", "clean", "--limit", "20ms", "--out", "m")
	if o.code != 1 || !strings.Contains(o.stdout, "FAIL gbn over clean: sim: limit reached") ||
		!strings.Contains(o.stdout, "gauntlet judge m/gbn/clean") {
		t.Errorf("exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}
}

func TestMatrixUsage(t *testing.T) {
	dir := t.TempDir()
	for args, want := range map[string]string{
		"--links clean,clean":    "over clean is there twice",
		"--impl gbn,fasr,gbn":    "gbn over clean is there twice",
		"--impl nope":            `implementation "nope": unknown; known: `,
		"--impl gbn+":            `implementation "": unknown`,
		"--links nope":           "known: clean",
		"--links ./nope.txt":     "no such file",
		"--bench tin":            "want one of sim, netns",
		"--link relay":           "means nothing on the sim bench",
		"--bench netns --jobs 2": "one after the other",
		"--jobs 0":               "want 1 or more",
		"--attempts 0":           "want 1 or more",
		"--param window=3":       "want impl:name=value",
		"--param gbn:nope=1":     "parameter nope is not known",
		"--with load":            "load",
		"--color mauve":          "want one of auto, always, never",
	} {
		o := inProcess(t, dir, append([]string{"matrix"}, strings.Fields(args)...)...)
		if o.code != 2 || !strings.Contains(o.stderr, want) || strings.Count(o.stderr, "\n") != 1 || o.stdout != "" {
			t.Errorf("%s: exit %d, want 2 and %q; stderr %q, stdout %q", args, o.code, want, o.stderr, o.stdout)
		}
	}
	if names := left(t, dir); len(names) > 0 {
		t.Errorf("left behind: %v", names)
	}
}
