// Package doctor examines the capabilities of this machine: the benches that run, the link that they use, and missing
// parts.
package doctor

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/build"
)

// Finding is one line of the report: the subject, its state, and the remedy if there is one.
type Finding struct {
	Name   string `json:"name"`
	State  string `json:"state"` // ok, limited or missing
	Found  string `json:"found"`
	Remedy string `json:"remedy,omitempty"`
}

// Examine examines everything. If measured, it also measures the capacity of a link in real time, and calls show with
// the share of that done.
func Examine(ctx context.Context, measured bool, show func(share float64, what string)) []Finding {
	all := slices.Concat(host(), network(), hardware(), tools())
	if measured {
		return append(all, Measure(ctx, show))
	}
	return append(all, unmeasured)
}

// Print writes findings as a table for people.
func Print(out io.Writer, all []Finding) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, f := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\n", f.State, f.Name, f.Found)
		if f.Remedy != "" {
			fmt.Fprintf(w, "\t\t→ %s\n", f.Remedy)
		}
	}
	return w.Flush()
}

// host describes the program and its machine.
func host() []Finding {
	return []Finding{
		{Name: "gauntlet", State: "ok",
			Found: fmt.Sprintf("%s, %s", build.Version(), cmp.Or(build.Commit(), "unknown commit"))},
		{Name: "machine", State: "ok", Found: fmt.Sprintf("%s/%s, %d processors, %s", runtime.GOOS, runtime.GOARCH,
			runtime.NumCPU(), runtime.Version())},
		{Name: "bench sim", State: "ok", Found: "virtual time, runs everywhere"},
	}
}

// tools looks for useful programs that are not required.
func tools() []Finding {
	var out []Finding
	for _, t := range []struct{ names, use, remedy string }{
		{"tshark", "opens the captures of a run", "apt-get install tshark"},
		{"chromium google-chrome chromium-browser", "the report's test in a browser", "apt-get install chromium"},
	} {
		f := Finding{Name: strings.Fields(t.names)[0], State: "missing", Found: "not found; optional, " + t.use,
			Remedy: t.remedy}
		for _, name := range strings.Fields(t.names) {
			if path, err := exec.LookPath(name); err == nil {
				f = Finding{Name: f.Name, State: "ok", Found: path + ": " + t.use}
				break
			}
		}
		out = append(out, f)
	}
	if free, err := freeSpace(os.TempDir()); err == nil {
		f := Finding{Name: "scratch space", State: "ok", Found: fmt.Sprintf("%d GiB free in %s",
			free>>30, os.TempDir())}
		if free < 1<<30 {
			f.State, f.Remedy = "limited", "a netns run spools its captures there; free some space or set TMPDIR"
		}
		out = append(out, f)
	}
	return out
}
