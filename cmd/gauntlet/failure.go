package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/build"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/document"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/registry"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// stdout is standard output for results; nothing else may be written there when programs read them. lines escapes
// foreign text in results that would be a command to a terminal or to a CI system.
var (
	stdout = &output{Writer: lines}
	lines  = &quote.Writer{To: os.Stdout}
)

// output is a writer that knows whether anything was written.
type output struct {
	io.Writer
	used bool
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.used = true
	return o.Writer.Write(p)
}

// jsonHelp explains --json.
const jsonHelp = "print the result as JSON; of a run that did not happen, an object with status and error"

// announce writes the JSON object of a command that failed with a message and without a result, to the place that its
// --json names, standard output or a file. It does nothing for any other command.
func announce(c *cobra.Command, args []string, code int, cause error, began time.Time) {
	f, text := c.Flags().Lookup("json"), fault.OneLine(cause)
	// the program that replaced this process has reported the error
	if f == nil || text == "" || errors.As(cause, new(*registry.Replaced)) {
		return
	}
	failure := model.Failure{Format: model.FormatVersion, Version: build.Version(), Commit: build.Commit(),
		Command: build.CommandLine(),
		Status:  rule.Error.String(), Error: text, Exit: code}
	if code == exitFailure {
		failure.Status = rule.Fail.String()
	}
	var err error
	if path := f.Value.String(); f.Value.Type() != "bool" {
		if path != "" && !writtenSince(path, began) {
			err = document.File(path, func(w io.Writer) error { return document.JSON(w, failure) })
		}
	} else if wanted := path == "true" || !f.Changed && slices.Contains(args, "--json"); wanted && !stdout.used {
		// --json was given, but flags after one in error are not parsed
		err = document.JSON(stdout, failure)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gauntlet: --json:", err)
	}
}

// writtenSince reports whether a file was written after a time.
func writtenSince(path string, began time.Time) bool {
	info, err := os.Stat(path)
	return err == nil && info.Size() > 0 && info.ModTime().After(began)
}
