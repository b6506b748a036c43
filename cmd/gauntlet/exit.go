package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/registry"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
)

// The exit codes other than 0.
const (
	exitFailure = 1
	exitUsage   = 2
	exitBroken  = 3
)

// exit ends a command with a code and, when text is not empty, one line on standard error.
type exit struct {
	code int
	text string
}

// Error implements error.
func (e exit) Error() string { return e.text }

// usage ends a command because of an error in its command line or input.
func usage(err error) error { return ending(exitUsage, err) }

// broken ends a command for an error of the harness.
func broken(err error) error { return ending(exitBroken, err) }

// settled derives the exit code from the status of several runs, as run.ExitCode does from that of one. INCONCLUSIVE is
// a failure here.
func settled(status string) error {
	switch status {
	case rule.Pass.String():
		return nil
	case rule.Invalid.String(), rule.Error.String():
		return exit{code: exitBroken}
	}
	return exit{code: exitFailure}
}

// ending gives an error an exit code. The error of a process that was replaced keeps the exit code of the process that
// replaced it.
func ending(code int, err error) error {
	var r *registry.Replaced
	if err == nil || errors.As(err, &r) {
		return err
	}
	return exit{code, err.Error()}
}

// report prints an error as one line and returns the exit code.
func report(err error) int {
	if err == nil {
		return 0
	}
	var r *registry.Replaced
	if errors.As(err, &r) {
		return r.Code
	}
	code := exitUsage // an error of cobra has no mark and is usage
	var e exit
	switch {
	case errors.As(err, &e):
		code = e.code
	case fault.Of(err) == fault.Harness:
		code = exitBroken
	case fault.Of(err) == fault.Program:
		code = exitFailure
	}
	if text := fault.OneLine(err); text != "" {
		fmt.Fprintln(os.Stderr, "gauntlet:", text)
	}
	return code
}
