package builds

import (
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/perf/history"
)

// A bisection runs only commands whose results have points, and only those that do not choose a folder.
func TestCheck(t *testing.T) {
	for line, want := range map[string]string{
		"matrix --impl gbn":  "",
		"run spec.txt":       "",
		"":                   "unknown; want one of conform gate matrix perf run",
		"list impls":         "list: unknown",
		"matrix --out=x":     "matrix --out: leave it out",
		"conform --junit x":  "conform --junit: leave it out",
		"perf --json --seed": "perf --json: leave it out",
	} {
		err := Check(strings.Fields(line))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", line, err, want)
		}
	}
}

// A build replaces the program that a command names as subject; without a subject it replaces this program.
func TestCommand(t *testing.T) {
	args := []string{"run", "--impl", "exec:build/t+gbn"}
	c := Subject{Name: "exec:build/t"}.Command(t.Context(), "/cache/t", args)
	if got := c.Args[3]; got != "exec:/cache/t+gbn" || c.Path == "/cache/t" || args[2] != "exec:build/t+gbn" {
		t.Errorf("%v, %v", c.Args, args)
	}
	c = Subject{Dir: "/plan"}.Command(t.Context(), "/cache/gauntlet", args)
	if c.Path != "/cache/gauntlet" || c.Args[3] != args[2] || c.Dir != "/plan" {
		t.Errorf("%v in %s", c.Args, c.Dir)
	}
}

// Points have the name of the subject, whatever its build, and are exact where a guest counts instructions.
func TestSettle(t *testing.T) {
	for args, want := range map[string]history.Class{"run": history.Noisy, "run --deterministic": history.Exact} {
		list := []history.Point{{Series: history.Series{Name: "run exec:/cache/t x", Class: history.Noisy}}}
		Subject{Name: "exec:build/t"}.settle(list, "/cache/t", strings.Fields(args))
		if p := &list[0]; p.Name != "run exec:build/t x" || p.Class != want {
			t.Errorf("%s: %+v", args, p)
		}
	}
}

// The text of a store is untrusted: only the name of a commit reaches git or a path.
func TestProgramOfNoCommit(t *testing.T) {
	for _, name := range []string{"", "HEAD", "--help", "../../x", "abc", "0123456+changes", "0123456\nx"} {
		if _, err := (&Builder{Command: "true", Cache: t.TempDir()}).Program(t.Context(), name); err == nil ||
			!strings.Contains(err.Error(), "want hexadecimal digits") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", name, err)
		}
	}
}
