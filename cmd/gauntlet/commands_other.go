//go:build !linux

package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
)

// processCommands are needed by benches that need Linux.
func processCommands() []*cobra.Command { return nil }

// testbedCommands need Linux.
func testbedCommands() []*cobra.Command { return nil }

// checkTestbed needs Linux.
func checkTestbed(context.Context, string, bool, bool) error {
	return usage(errors.New("--testbed: needs Linux"))
}

// labCommands need Linux.
func labCommands() []*cobra.Command { return nil }
