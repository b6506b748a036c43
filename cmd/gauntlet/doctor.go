package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// finding is one line of the doctor: what was looked at, what was found, and what that means.
type finding struct {
	Name   string `json:"name"`
	State  string `json:"state"` // ok, limited or missing
	Found  string `json:"found"`
	Remedy string `json:"remedy,omitempty"`
}

func doctorCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Say what this machine can do, which link it will use, and why",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			all := append(host(), network()...)
			all = append(all, tools()...)
			if asJSON {
				return encode(c.OutOrStdout(), all)
			}
			return printFindings(c.OutOrStdout(), all)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return c
}

func printFindings(out io.Writer, all []finding) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, f := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\n", f.State, f.Name, f.Found)
		if f.Remedy != "" {
			fmt.Fprintf(w, "\t\t→ %s\n", f.Remedy)
		}
	}
	return w.Flush()
}

// host is what the program itself runs on.
func host() []finding {
	return []finding{
		{Name: "gauntlet", State: "ok", Found: fmt.Sprintf("%s, %s", version(), orUnknown(commit()))},
		{Name: "machine", State: "ok", Found: fmt.Sprintf("%s/%s, %d processors, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())},
		{Name: "bench sim", State: "ok", Found: "virtual time, runs everywhere"},
	}
}

// tools looks for programs that are not needed but useful.
func tools() []finding {
	var out []finding
	for _, t := range []struct{ names, use, remedy string }{
		{"tshark", "opens the captures of a run", "apt-get install tshark"},
		{"chromium google-chrome chromium-browser", "the report's test in a browser", "apt-get install chromium"},
	} {
		f := finding{Name: strings.Fields(t.names)[0], State: "missing", Found: "not found; optional, " + t.use, Remedy: t.remedy}
		for _, name := range strings.Fields(t.names) {
			if path, err := exec.LookPath(name); err == nil {
				f = finding{Name: f.Name, State: "ok", Found: path + ": " + t.use}
				break
			}
		}
		out = append(out, f)
	}
	if free, err := freeSpace(os.TempDir()); err == nil {
		f := finding{Name: "scratch space", State: "ok", Found: fmt.Sprintf("%d GiB free in %s", free>>30, os.TempDir())}
		if free < 1<<30 {
			f.State, f.Remedy = "limited", "a netns run spools its captures there; free some space or set TMPDIR"
		}
		out = append(out, f)
	}
	return out
}
