//go:build !linux

package main

import "github.com/spf13/cobra"

// processCommands are needed by benches that need Linux.
func processCommands() []*cobra.Command { return nil }

// labCommands need Linux.
func labCommands() []*cobra.Command { return nil }
