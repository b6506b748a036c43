package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/run"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/terminal"
)

// release is the version of the tool; it is set when a release is built (-ldflags -X main.release=…).
var release = "0.1.0-dev"

func version() string { return release }

// commit returns the revision that the binary was built from, "" when the build did not record it.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	rev, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			rev = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+changes"
		}
	}
	if rev == "" {
		return ""
	}
	return rev + dirty
}

// commandLine is how this process was started, quoted for a shell.
func commandLine() string {
	words := []string{"gauntlet"}
	for _, a := range os.Args[1:] {
		if a == "" || strings.ContainsAny(a, " \t'\"$&|<>;*?()#\\") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		words = append(words, a)
	}
	return strings.Join(words, " ")
}

// colored decides whether output to f is coloured: "auto" asks for a terminal and respects NO_COLOR.
func colored(mode string, f *os.File) bool {
	switch mode {
	case "always":
		return true
	case "never":
		return false
	}
	return term.IsTerminal(int(f.Fd())) && os.Getenv("NO_COLOR") == ""
}

// printResult shows a result on standard output, as JSON or for people, and returns the error that ends the command with the
// exit code that err and the result ask for.
func printResult(r *model.Result, asJSON bool, color string, err error) error {
	var printErr error
	switch {
	case asJSON:
		short := *r
		short.Sequences, short.Timeline.Bytes = nil, nil // plots, for the HTML report
		printErr = encode(os.Stdout, short)
	case err == nil || len(r.Verdicts) > 0: // else nothing ran, and the error says all
		printErr = terminal.Write(os.Stdout, r, terminal.Options{Color: colored(color, os.Stdout)})
	}
	if err == nil {
		err = printErr
	}
	if err != nil {
		return exit{exitBroken, err.Error()}
	}
	if code := run.ExitCode(r); code != 0 {
		return exit{code: code}
	}
	return nil
}

// encode writes indented JSON.
func encode(w io.Writer, v any) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(v)
}

// progress draws one line that is rewritten in place; it draws nothing when its output is not a terminal.
type progress struct {
	out   io.Writer
	on    bool
	plain bool // not a terminal: what is said goes there line by line
	began time.Time
	last  time.Time
	drawn bool
}

func newProgress(f *os.File, wanted bool) *progress {
	terminal := term.IsTerminal(int(f.Fd()))
	return &progress{out: f, on: wanted && terminal, plain: wanted && !terminal, began: time.Now()}
}

// show draws the line, ten times a second at most.
func (p *progress) show(share float64, what string) {
	now := time.Now()
	if !p.on || now.Sub(p.last) < 100*time.Millisecond {
		return
	}
	p.last, p.drawn = now, true
	share = min(max(share, 0), 1)
	const width = 30
	bar := strings.Repeat("█", int(share*width))
	fmt.Fprintf(p.out, "\r\x1b[K%-*s %3.0f%%  %s  %s", width, bar, 100*share, remaining(now.Sub(p.began), share), what)
}

// remaining estimates the time to go from the time spent.
func remaining(spent time.Duration, share float64) string {
	if share < 0.02 {
		return "…"
	}
	return (time.Duration(float64(spent) * (1 - share) / share)).Round(time.Second).String() + " left"
}

// say writes a line of its own where nothing is rewritten.
func (p *progress) say(what string) {
	if p.plain {
		fmt.Fprintln(p.out, what)
	}
}

// restart begins to estimate again, for work of another kind.
func (p *progress) restart() { p.began = time.Now() }

// done removes the line.
func (p *progress) done() {
	if p.drawn {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
