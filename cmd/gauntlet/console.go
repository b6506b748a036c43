package main

import (
	"errors"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/document"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/run"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/terminal"
)

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
func show[T any](v T, f *outputFlags, text func(io.Writer, T, terminal.Options) error) error {
	if f.json {
		return document.JSON(stdout, v)
	}
	return text(stdout, v, terminal.Options{Color: colored(f.color, os.Stdout)})
}

// printResult shows a result on standard output, as JSON or for people, and returns the error that ends the command
// with the exit code that err and the result ask for.
func printResult(r *model.Result, f *outputFlags, err error) error {
	var printErr error
	var refused *run.Refused
	switch {
	case errors.As(err, &refused): // nothing ran, and the error is the whole result
	case f.json:
		short := *r
		short.Sequences, short.Timeline.Bytes = nil, nil // plots, for the HTML report
		printErr = document.JSON(stdout, short)
	case err == nil || len(r.Verdicts) > 0: // otherwise there was nothing to judge, and the error has the reason
		printErr = terminal.Write(stdout, r, terminal.Options{Color: colored(f.color, os.Stdout)})
	}
	if err == nil {
		err = printErr
	}
	switch {
	case err == nil:
	case refused == nil && run.ExitCode(r) == exitFailure:
		return ending(exitFailure, err) // an error of the harness hides no failure that stands
	default:
		return blamed(err)
	}
	if code := run.ExitCode(r); code != 0 {
		return exit{code: code}
	}
	return nil
}

// blamed marks an error as usage or as the harness's. Usage are a folder that is in use, and a Spec that its bench or
// its implementation cannot run on any machine.
func blamed(err error) error {
	if unfit := new(bench.Unfit); errors.As(err, &unfit) || errors.Is(err, run.ErrHeld) ||
		errors.Is(err, bench.ErrUnsupported) {
		return usage(err)
	}
	return broken(err)
}
