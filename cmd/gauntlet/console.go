package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/document"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/run"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/terminal"
)

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

// show prints a result on standard output, as JSON or for people.
func show[T any](v T, asJSON bool, color string, text func(io.Writer, T, terminal.Options) error) error {
	if asJSON {
		return document.JSON(stdout, v)
	}
	return text(os.Stdout, v, terminal.Options{Color: colored(color, os.Stdout)})
}

// printResult shows a result on standard output, as JSON or for people, and returns the error that ends the command with the
// exit code that err and the result ask for.
func printResult(r *model.Result, asJSON bool, color string, err error) error {
	var printErr error
	var refused *run.Refused
	switch {
	case errors.As(err, &refused): // nothing ran, and the error says all
	case asJSON:
		short := *r
		short.Sequences, short.Timeline.Bytes = nil, nil // plots, for the HTML report
		printErr = document.JSON(stdout, short)
	case err == nil || len(r.Verdicts) > 0: // else there was nothing to judge, and the error says why
		printErr = terminal.Write(os.Stdout, r, terminal.Options{Color: colored(color, os.Stdout)})
	}
	if err == nil {
		err = printErr
	}
	switch {
	case err == nil:
	case refused == nil && run.ExitCode(r) == exitFailure:
		return ending(exitFailure, err) // what broke hides no failure that stands
	default:
		return blamed(err)
	}
	if code := run.ExitCode(r); code != 0 {
		return exit{code: code}
	}
	return nil
}

// blamed tells what the command line asks for and nobody can do from what broke: a folder that is taken, and a Spec that its bench
// or its implementation cannot run on any machine, are usage.
func blamed(err error) error {
	if unfit := new(bench.Unfit); errors.As(err, &unfit) || errors.Is(err, run.ErrHeld) || errors.Is(err, bench.ErrUnsupported) {
		return usage(err)
	}
	return broken(err)
}

// newFolder is where a command writes: out, or when that is "" a new folder below runs/, named after the time and these words.
func newFolder(out string, words ...string) string {
	if out != "" {
		return out
	}
	return filepath.Join("runs", strings.Join(append([]string{time.Now().UTC().Format("20060102-150405")}, words...), "-"))
}
