package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"

	"github.com/rdma-gauntlet/gauntlet/perf/suite"
	"github.com/rdma-gauntlet/gauntlet/perf/targets"
)

// perfOf reads what perf --json prints.
func perfOf(t *testing.T, o exited) *suite.Result {
	t.Helper()
	var m suite.Result
	if err := json.Unmarshal([]byte(o.stdout), &m); err != nil {
		t.Fatalf("exit %d, %v\n%s%s", o.code, err, o.stdout, o.stderr)
	}
	return &m
}

// Some cheap claims of each kind, and every document of them.
func TestPerf(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o := gauntlet(t, dir, "perf", "--target", "PT-NT-02,PT-NT-04,PT-FS-04,PT-FS-15", "--seeds", "2", "--json",
		"--html", "out/perf.html", "--markdown", "out/perf.md", "--gobench", "out/perf.txt")
	m := perfOf(t, o)
	if o.code != 0 || m.Status != suite.Holds || len(m.Claims) != 4 || m.Runs != 5 || m.Count(suite.Reported) != 1 {
		t.Fatalf("exit %d, %+v\n%s", o.code, m, o.stderr)
	}
	for name, want := range map[string]string{"perf.html": "PT-NT-02", "perf.md": "| PT-FS-04 | V |"} {
		if text, err := os.ReadFile(filepath.Join(dir, "out", name)); err != nil ||
			!strings.Contains(string(text), want) {
			t.Errorf("%s: no %q, %v", name, want, err)
		}
	}
	f, err := os.Open(filepath.Join(dir, "out", "perf.txt"))
	must(t, err)
	defer f.Close()
	lines := map[string]int{}
	for in := benchfmt.NewReader(f, "perf.txt"); in.Scan(); {
		if r, ok := in.Result().(*benchfmt.Result); ok {
			lines[r.Name.String()]++
		}
	}
	if lines["PT-NT-02//goodput"] != 1 || lines["PT-FS-04/go-back-N_at_0.1_%/share_of_ceiling"] != 2 {
		t.Errorf("benchmarks %v", lines)
	}
}

func TestPerfRejects(t *testing.T) {
	for want, args := range map[string][]string{
		"class \"Q\"":        {"--class", "A,Q"},
		"no claim of that":   {"--class", "X", "--target", "PT-NT"},
		"unknown; see":       {"--target", "PT-ZZ-99"},
		"--jobs 0":           {"--jobs", "0"},
		"0 seeds":            {"--seeds", "0", "--target", "PT-NT-04"},
		"--confidence 1":     {"--confidence", "1"},
		"want sim, netns or": {"--bench", "container"},
		"--deterministic: m": {"--deterministic"},
		"--attempts 0":       {"--attempts", "0"},
		"--longest: mean no": {"--longest", "1s"},
		"--longest -1s":      {"--longest", "-1s", "--bench", "netns"},
		"leave one out":      {"--shard", "1/2", "--units", "a", "--bench", "netns"},
		"a guest has no fol": {"--units", "a", "--bench", "lab"},
		"--link \"wire\"":    {"--link", "wire"},
		"use fewer --jobs":   {"--jobs", "100000"},
		"--color \"bright\"": {"--color", "bright"},
	} {
		if o := inProcess(t, t.TempDir(), append([]string{"perf"}, args...)...); o.code != exitUsage ||
			!strings.Contains(o.stderr, want) || strings.Count(o.stderr, "\n") != 1 {
			t.Errorf("%v: exit %d, %q, want %q", args, o.code, o.stderr, want)
		}
	}
}

func TestListTargets(t *testing.T) {
	o := inProcess(t, t.TempDir(), "list", "targets", "--json")
	var rows []struct{ ID string }
	if err := json.Unmarshal([]byte(o.stdout), &rows); err != nil || o.code != 0 || len(rows) != len(targets.All()) {
		t.Errorf("exit %d, %d rows, %v", o.code, len(rows), err)
	}
	if o = inProcess(t, t.TempDir(), "list", "targets"); o.code != 0 || !strings.Contains(o.stdout, "PT-FS-08") {
		t.Errorf("exit %d, %s", o.code, o.stdout)
	}
}
