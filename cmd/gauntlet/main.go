// Command gauntlet checks how RDMA transports recover from loss on wide-area links, and how fast.
//
// Exit codes: 0 all required rules passed; 1 a conformance or performance failure; 2 usage; 3 the link or capture was not
// what the scenario says (INVALID), the harness broke (ERROR), or what is judged is of a run that was killed (INCOMPLETE).
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	began := time.Now()
	c, err := root().ExecuteContextC(ctx)
	stop()
	code := report(err)
	if err != nil {
		announce(c, os.Args[1:], code, err, began)
	}
	os.Exit(code)
}

func root() *cobra.Command {
	c := &cobra.Command{
		Use:   "gauntlet",
		Short: "Check how RDMA transports recover from loss on wide-area links, and how fast",
		Long: `Gauntlet runs RDMA transports over emulated lossy wide-area links, records every packet at both ends, judges the
trace by the rules of the protocol, measures goodput and flow completion time, and writes a report.

Exit codes: 0 all required rules passed; 1 a conformance or performance failure; 2 usage; 3 INVALID, ERROR or INCOMPLETE.

With --json a command prints one JSON document and nothing else: its result, or, when it came to none, an object whose status is
ERROR and whose error is the line on standard error, with format, version, commit, command and exit, the exit code.`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	c.SetOut(stdout)
	c.AddCommand(runCommand(), conformCommand(), qualifyCommand(), matrixCommand(), perfCommand(), atlasCommand(), figuresCommand(), checkContractCommand())
	c.AddCommand(judgeCommand(), ladderCommand(), datasheetCommand(), tapeCommand())
	c.AddCommand(listCommand(), qdCommand(), doctorCommand(), selfcheckCommand(), versionCommand())
	c.AddCommand(labCommands()...)
	c.AddCommand(processCommands()...)
	return c
}
