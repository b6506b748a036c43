package night

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/perf/change"
	"github.com/rdma-gauntlet/gauntlet/perf/history"
	"github.com/rdma-gauntlet/gauntlet/perf/history/store"
	"github.com/rdma-gauntlet/gauntlet/perf/metrics"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// speed makes the test binary be a program: one cell of a matrix in real time, of this goodput with 1 % noise,
// or one of this status in virtual time, or behind "exact" one for each number of packets.
const speed = "GAUNTLET_TEST_SPEED"

func TestMain(m *testing.M) {
	text, fake := os.LookupEnv(speed)
	if !fake {
		os.Exit(m.Run())
	}
	if slices.Contains(os.Args, "--help") {
		return
	}
	if slices.Contains([]string{"PASS", "FAIL", "INVALID"}, text) {
		_ = json.NewEncoder(os.Stdout).Encode(model.Matrix{Format: 1, Bench: "sim", Started: "2026-11-24T00:00:00Z",
			Cells: []model.Cell{leave(text, "clean", 0)}})
		return
	}
	if list, exact := strings.CutPrefix(text, "exact "); exact {
		m := model.Matrix{Format: 1, Bench: "sim", Started: "2026-11-24T00:00:00Z"}
		for i, n := range strings.Fields(list) {
			packets, _ := strconv.ParseInt(n, 10, 64)
			m.Cells = append(m.Cells, leave("PASS", []string{"clean", "random"}[i], packets))
		}
		_ = json.NewEncoder(os.Stdout).Encode(m)
		return
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		fmt.Fprintln(os.Stderr, "gauntlet: matrix: no link")
		os.Exit(3)
	}
	_ = json.NewEncoder(os.Stdout).
		Encode(model.Matrix{Format: 1, Bench: "netns", Started: "2026-11-24T00:00:00Z", Cells: []model.Cell{
			{
				Impl:     "gbn",
				Link:     "clean",
				Status:   "PASS",
				SpecHash: "aa",
				Summary:  metrics.Summary{GoodputBps: x * (1 + 0.01*rand.NormFloat64())},
			}}})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// repository makes one with a commit for each speed of a program, whose title it is.
func repository(t *testing.T, speeds ...string) (dir string, commits []string) {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	dir = t.TempDir()
	git := func(args ...string) string {
		c := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@t"}, args...)...)
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q")
	for _, x := range speeds {
		script := fmt.Sprintf("#!/bin/sh\n%s='%s' exec %s \"$@\"\n", speed, x, self)
		must(t, os.WriteFile(filepath.Join(dir, "program"), []byte(script), 0o755))
		git("add", "program")
		git("commit", "-q", "--allow-empty", "-m", x)
		commits = append(commits, git("rev-parse", "HEAD"))
	}
	return dir, commits
}

// nights fills a store with a level of numbers in real time.
func nights(t *testing.T, dir, commit string, n int) {
	t.Helper()
	for i := range n {
		day := fmt.Sprintf("2026-10-%02d", 1+i)
		p := history.Point{
			Series: history.Series{
				Name:   "matrix gbn clean goodput",
				Bench:  "netns",
				Class:  history.Noisy,
				Unit:   "bit/s",
				Better: history.Up,
			},
			Spec:   "aa",
			Values: []float64{100 + float64(i*7%5-2)/4},
		}
		_, err := store.Add(
			dir,
			&history.Night{
				Header: history.Header{
					Night:   day,
					Started: day + "T00:00:00Z",
					Commit:  commit,
					Host:    "h",
					Kernel:  "6.1",
				},
				Points: []history.Point{p},
			},
		)
		must(t, err)
	}
}

// play goes through a night of a plan.
func play(t *testing.T, plan string) (*model.Night, error) {
	t.Helper()
	p, err := ReadPlan(plan)
	must(t, err)
	s, err := New(
		t.Context(),
		Options{
			Plan:   p,
			Path:   plan,
			Folder: filepath.Join(t.TempDir(), "out"),
			Night:  "2026-11-24",
			Commit: strings.Repeat("b", 40),
		},
	)
	must(t, err)
	s.night.Kernel = "6.1"
	must(t, s.Open())
	n, err := s.Run(t.Context(), func(float64, string) {})
	if err == nil {
		err = Write(n)
	}
	return n, err
}

// A number in real time that left its level is measured again beside the build of the level, and is one change with its
// size; where it cannot be built it stays a suspicion, which says why.
func TestConfirmed(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: starts programs")
	}
	t.Setenv(speed, "90")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir, commits := repository(t, "100", "90")
	plan := filepath.Join(dir, "n.plan")
	for build, want := range map[string]string{"build cp program $GAUNTLET_PROGRAM\n": "",
		"": "the plan has no line build", "build false\n": "exit status 1"} {
		must(t, os.RemoveAll(filepath.Join(dir, "nights")))
		nights(t, filepath.Join(dir, "nights"), commits[0], 25)
		must(t, os.WriteFile(plan, []byte("night 1\nhost h\nrepeat 3\n"+build+"matrix --bench netns\n"), 0o644))
		n, err := play(t, plan)
		must(t, err)
		if want != "" {
			if len(n.Changes.Entries) != 0 || len(n.Changes.Suspected) != 1 || n.Status != "PASS" ||
				!strings.Contains(strings.Join(n.Notes, "\n"), want) {
				t.Errorf("%q: %s %+v %q", build, n.Status, n.Changes, n.Notes)
			}
			continue
		}
		if len(n.Changes.Entries) != 1 || n.Status != "FAIL" {
			t.Fatalf("%s %+v, %q", n.Status, n.Changes, n.Notes)
		}
		x := n.Changes.Entries[0].Changes[0]
		if x.Kind != change.Regressed || x.Relative.Value > -0.08 || x.Relative.Value < -0.12 ||
			n.Changes.Entries[0].Before != commits[0] {
			t.Errorf("%+v, %+v", x, x.Relative)
		}
		c, err := store.Read(filepath.Join(dir, "nights"))
		must(t, err)
		if last := c.Nights[len(c.Nights)-1]; len(last.Alarms) != 1 || len(c.Nights) != 26 ||
			last.Alarms[0].Since != "2026-11-24" {
			t.Errorf("%+v", last)
		}
		stored, err := Stored(t.Context(), c, filepath.Join(dir, "nights"), "")
		if must(t, err); len(stored.Changes.Entries) != 1 ||
			stored.Changes.Entries[0].Changes[0].Kind != change.Regressed ||
			stored.Status != "FAIL" ||
			stored.Host != "h" ||
			len(stored.Changes.Suspected) != 0 {
			t.Errorf("from the store: %+v", stored.Changes)
		}
		if _, err = Stored(t.Context(), c, filepath.Join(dir, "nights"), "2025-01-01"); err == nil ||
			!strings.Contains(err.Error(), "has no night 2025-01-01") {
			t.Error(err)
		}
		before, err := Stored(t.Context(), c, filepath.Join(dir, "nights"), "2026-10-20")
		if err != nil || before.Status != "PASS" ||
			before.Header.Night != "2026-10-20" ||
			before.Changes.Compared != 1 {
			t.Errorf("%+v, %v", before, err)
		}
	}
}

// Runs in real time are repeated in turns with those of the pinned build, and are shares of it.
func TestPinned(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: starts programs")
	}
	t.Setenv(speed, "90")
	dir, _ := repository(t, "100", "90")
	plan := filepath.Join(dir, "n.plan")
	must(t, os.WriteFile(filepath.Join(dir, "pin"), []byte("#!/bin/sh\n"+speed+"=180 exec "+os.Args[0]+"\n"), 0o755))
	must(t, os.WriteFile(plan, []byte("night 1\nrepeat 3\npinned pin\nmatrix --bench netns\n"), 0o644))
	_, err := play(t, plan)
	must(t, err)
	c, err := store.Read(filepath.Join(dir, "nights"))
	must(t, err)
	i := slices.IndexFunc(
		c.Nights[0].Points,
		func(p history.Point) bool { return strings.HasSuffix(p.Name, "goodput") },
	)
	if p := c.Nights[0].Points[i]; len(p.Values) != 3 || len(p.Reference) != 3 || p.Value() < 0.47 || p.Value() > 0.53 {
		t.Errorf("%+v", p)
	}
}

// A command that leaves nothing is told, the others are kept, and the night is not complete.
func TestNoResult(t *testing.T) {
	t.Setenv(speed, "none")
	dir := t.TempDir()
	plan := filepath.Join(dir, "n.plan")
	must(t, os.WriteFile(plan, []byte("night 1\nmatrix --bench netns\n"), 0o644))
	n, err := play(t, plan)
	must(t, err)
	if n.Status != model.Incomplete || !strings.Contains(n.Steps[0].Trouble, "no link") || n.File != "" ||
		!strings.Contains(n.Sentence(), "; 1 command had no result") {
		t.Errorf("%+v", n)
	}
}

// A store that cannot be written loses nothing: the night is in the report folder, and the error says how to add it.
func TestStoreThatCannotBeWritten(t *testing.T) {
	t.Setenv(speed, "PASS")
	dir := t.TempDir()
	plan := filepath.Join(dir, "n.plan")
	must(t, os.WriteFile(plan, []byte("night 1\nmatrix\n"), 0o644))
	must(t, os.Symlink(filepath.Join(dir, "no", "disk"), filepath.Join(dir, "nights")))
	_, err := play(t, plan)
	if err == nil || fault.Of(err) != fault.Harness || strings.Contains(err.Error(), "\n") {
		t.Fatal(err)
	}
	words := strings.Fields(err.Error())
	at := slices.Index(words, "merge")
	if at < 0 || words[at+1] != filepath.Join(dir, "nights") {
		t.Fatal(err)
	}
	if c, err := store.Read(words[at+2]); err != nil || len(c.Nights) != 1 || len(c.Nights[0].Points) == 0 {
		t.Errorf("%+v, %v", c, err)
	}
}

// Every command of the plan of this repository measures something: a command without a number makes a night INCOMPLETE.
// Claims of class A need no run, and have none.
func TestPlanOfThisRepository(t *testing.T) {
	p, err := ReadPlan("../../../nightly.plan")
	must(t, err)
	for i := range p.Steps {
		args := p.Steps[i].Args
		at := slices.Index(args, "--class")
		if args[0] == "perf" && at > 0 && !strings.ContainsAny(args[at+1], "VE") {
			t.Errorf("%s measures nothing", p.Steps[i].String())
		}
	}
}

// What the budget or the user ends is told as left out, and what came before is kept.
func TestInterrupted(t *testing.T) {
	t.Setenv(speed, "90")
	dir := t.TempDir()
	plan := filepath.Join(dir, "n.plan")
	must(
		t,
		os.WriteFile(plan, []byte("night 1\nrepeat 1\nmatrix --bench netns\nmatrix --bench netns --seed 2\n"), 0o644),
	)
	p, err := ReadPlan(plan)
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	s, err := New(ctx, Options{Plan: p, Path: plan, Folder: t.TempDir()})
	must(t, err)
	n, err := s.Run(ctx, func(share float64, _ string) {
		if share > 0 {
			cancel()
		}
	})
	must(t, err)
	if n.Status != model.Incomplete || n.Steps[0].Points == 0 || n.Steps[1].Left != "interrupted" || n.File == "" {
		t.Errorf("%+v", n)
	}
}

// Of several runs a number has all values and a verdict the most frequent word; a gap in one of them is none.
func TestCombined(t *testing.T) {
	number := func(values ...float64) history.Point {
		return history.Point{Series: history.Series{Name: "n", Class: history.Noisy}, Values: values}
	}
	word := func(w string) history.Point {
		return history.Point{Series: history.Series{Name: "w", Class: history.Noisy}, Word: w}
	}
	gap := number()
	gap.Status = "INVALID"
	all := combined([][]history.Point{{gap, word("FAIL A")}, {number(1), word("PASS")}, {number(2), word("PASS")}})
	if len(all) != 2 || len(all[0].Values) != 2 || all[0].Status != "" || all[1].Word != "PASS" ||
		all[1].Status != "flaky: so in 2 of 3 runs" {
		t.Errorf("%+v", all)
	}
	if all = combined([][]history.Point{{gap}, {gap}}); !all[0].Gap() || all[0].Status != "INVALID" {
		t.Errorf("%+v", all)
	}
}
