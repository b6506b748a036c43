// Command gauntlet checks how RDMA transports recover from loss on wide-area links, and how fast.
//
// Exit codes: 0 all required rules passed; 1 a conformance or performance failure; 2 usage; 3 the link or capture was not
// what the scenario says (INVALID), or the harness broke (ERROR).
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// The exit codes beside 0.
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

// usage is an error in what the user wrote.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return exit{exitUsage, err.Error()}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	err := root().ExecuteContext(ctx)
	stop()
	os.Exit(report(err))
}

// report prints an error as one line and returns the exit code.
func report(err error) int {
	if err == nil {
		return 0
	}
	code := exitUsage // what cobra itself complains of is usage
	var e exit
	if errors.As(err, &e) {
		code = e.code
	}
	if text := strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; "); text != "" {
		fmt.Fprintln(os.Stderr, "gauntlet:", text)
	}
	return code
}

func root() *cobra.Command {
	c := &cobra.Command{
		Use:   "gauntlet",
		Short: "Check how RDMA transports recover from loss on wide-area links, and how fast",
		Long: `Gauntlet runs RDMA transports over emulated lossy wide-area links, records every packet at both ends, judges the
trace by the rules of the protocol, measures goodput and flow completion time, and writes a report.

Exit codes: 0 all required rules passed; 1 a conformance or performance failure; 2 usage; 3 INVALID or ERROR.`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	c.AddCommand(runCommand(), conformCommand(), qualifyCommand(), matrixCommand(), perfCommand(), atlasCommand(), figuresCommand(), checkContractCommand())
	c.AddCommand(judgeCommand(), ladderCommand(), datasheetCommand(), tapeCommand())
	c.AddCommand(listCommand(), qdCommand(), doctorCommand(), selfcheckCommand(), versionCommand())
	c.AddCommand(labCommands()...)
	c.AddCommand(processCommands()...)
	return c
}
