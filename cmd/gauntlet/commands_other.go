//go:build !linux

package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
)

// processCommands returns no commands: the benches that start processes need Linux.
func processCommands() []*cobra.Command { return nil }

// testbedCommands returns no commands: they need Linux.
func testbedCommands() []*cobra.Command { return nil }

// checkTestbed returns an error: testbeds need Linux.
func checkTestbed(context.Context, string, bool, bool) error {
	return usage(errors.New("--testbed: needs Linux"))
}

// labCommands returns no commands: they need Linux.
func labCommands() []*cobra.Command { return nil }
