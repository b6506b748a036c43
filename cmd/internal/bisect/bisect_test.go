package bisect

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/builds"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/perf/history"
	"github.com/rdma-gauntlet/gauntlet/perf/metrics"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// packets makes the test binary be a program: one cell of a matrix in virtual time with so many packets, or in real
// time behind "real".
const packets = "GAUNTLET_TEST_PACKETS"

func TestMain(m *testing.M) {
	text, fake := os.LookupEnv(packets)
	if !fake {
		os.Exit(m.Run())
	}
	bench := "sim"
	if rest, real := strings.CutPrefix(text, "real"); real {
		bench, text = "netns", rest
	}
	var n int64
	if _, err := fmt.Sscan(text, &n); err != nil {
		fmt.Fprintln(os.Stderr, "gauntlet: matrix: does not run")
		os.Exit(3)
	}
	_ = json.NewEncoder(os.Stdout).Encode(model.Matrix{Format: 1, Bench: bench, Started: "2026-11-24T00:00:00Z",
		Cells: []model.Cell{
			{Impl: "gbn", Link: "clean", Status: "PASS", SpecHash: "aa", Summary: metrics.Summary{Packets: n}},
		}})
}

const series = "matrix gbn clean packets"

// repository makes one with a commit for each text, which its program measures.
func repository(t *testing.T, texts ...string) (o Options, commits []string) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: starts programs")
	}
	dir := t.TempDir()
	git := func(args ...string) string {
		out, err := exec.Command("git",
			append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@t"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q")
	for i, text := range texts {
		script := "#!/bin/sh\n# " + fmt.Sprint(i) + "\n" + packets + "=" + text + " exec " + os.Args[0] + "\n"
		if text == "unbuilt" {
			script = ""
		}
		if err := os.WriteFile(filepath.Join(dir, "program"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		git("add", "program")
		git("commit", "-q", "--allow-empty", "-m", fmt.Sprintf("commit %d", i))
		commits = append(commits, git("rev-parse", "HEAD"))
	}
	return Options{
		Builder: builds.Builder{
			Repo:    dir,
			Command: "test -s program && cp program $GAUNTLET_PROGRAM",
			Cache:   t.TempDir(),
		},
		Good:     commits[0],
		Bad:      "HEAD",
		Args:     []string{"matrix"},
		Folder:   filepath.Join(t.TempDir(), "out"),
		Progress: func(float64, string) {},
	}, commits
}

// Among 33 commits seven runs find the one, wherever it is; what a store knows is not run.
func TestBisect(t *testing.T) {
	for _, first := range []int{1, 17, 32} {
		texts := make([]string, 33)
		for i := range texts {
			if texts[i] = "100"; i >= first {
				texts[i] = "101"
			}
		}
		o, commits := repository(t, texts...)
		o.Args = []string{"matrix", "--with", "link rate=1G"}
		b, err := Run(t.Context(), o)
		again := "gauntlet bisect " + commits[0] + " " + commits[len(commits)-1] + " --build '" + o.Command +
			"' --series '" + series + "' -- matrix --with 'link rate=1G'"
		if err == nil && b.Again("", "") != again {
			t.Errorf("%s, want %s", b.Again("", ""), again)
		}
		if err != nil || b.First != commits[first] || b.Last != b.First || b.Runs > 7 ||
			b.Title != fmt.Sprintf("commit %d", first) ||
			!slices.Contains(b.Series, series) {
			t.Fatalf("%d: %+v, %v", first, b, err)
		}
		o.Series, o.Known = []string{series}, map[string][]history.Point{}
		for i, c := range commits {
			if i%16 == 0 || i == first || i == first-1 {
				o.Known[c] = []history.Point{
					{
						Series: history.Series{Name: series, Class: history.Exact},
						Values: []float64{map[bool]float64{false: 100, true: 101}[i >= first]},
					},
				}
			}
		}
		if b, err = Run(t.Context(), o); err != nil || b.First != commits[first] || b.Runs > 4 {
			t.Errorf("%d: with a store %+v, %v", first, b, err)
		}
	}
}

// Commits that cannot be built or run are stepped around; where they hide the one, the range is named.
func TestBisectAroundWhatIsBroken(t *testing.T) {
	o, commits := repository(t, "1", "1", "none", "unbuilt", "1", "2", "none", "2")
	if b, err := Run(t.Context(), o); err != nil || b.Last != commits[5] || b.First != commits[5] {
		t.Errorf("%+v, %v", b, err)
	}
	o, commits = repository(t, "1", "none", "unbuilt", "2")
	b, err := Run(t.Context(), o)
	if fault.Of(err) != fault.Harness || !strings.Contains(err.Error(), "one of the 3 commits") ||
		b.First != commits[1] ||
		b.Last != commits[3] {
		t.Errorf("%+v, %v", b, err)
	}
}

func TestBisectRefuses(t *testing.T) {
	o, commits := repository(t, "1", "1", "2")
	real, _ := repository(t, "real1", "real2")
	for want, change := range map[string]func(*Options){
		"nothing exact changed":     func(o *Options) { o.Bad = commits[1] },
		"is not before":             func(o *Options) { o.Good = o.Bad },
		"git rev-parse":             func(o *Options) { o.Good = "--help" },
		"frobnicate: unknown":       func(o *Options) { o.Args = []string{"frobnicate"} },
		"--series \"x\": not among": func(o *Options) { o.Series = []string{"x"} },
		"measures nothing exactly":  func(o *Options) { o.Repo, o.Good = real.Repo, real.Good },
		"left no program":           func(o *Options) { o.Command = "true" },
		"exit status 4":             func(o *Options) { o.Command = "exit 4" },
	} {
		c := o
		change(&c)
		if b, err := Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v, %v, want %q", b, err, want)
		}
	}
}
