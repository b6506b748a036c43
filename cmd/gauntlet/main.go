// Command gauntlet checks how RDMA transports recover from loss on wide-area links, and how fast.
//
// Exit codes: 0 all required rules passed; 1 a conformance or performance failure; 2 usage; 3 the link or capture was
// not as the scenario says (INVALID), the harness broke (ERROR), or the judged folder is that of a run that was killed
// (INCOMPLETE).
package main

import (
	"cmp"
	"context"
	"embed"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

func main() { os.Exit(program()) }

// program runs the command line, and returns the exit code.
func program() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	began := time.Now()
	c, err := root().ExecuteContextC(ctx)
	stop()
	err = cmp.Or(err, broken(lines.Flush()))
	code := report(err)
	if err != nil {
		announce(c, os.Args[1:], code, err, began)
	}
	return code
}

func root() *cobra.Command {
	c := &cobra.Command{
		Use:           "gauntlet",
		Short:         "Check how RDMA transports recover from loss on wide-area links, and how fast",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	c.SetOut(stdout)
	if len(os.Args) > 1 && os.Args[1] == "process" { // a bench starts many processes, which need no other command
		c.AddCommand(processCommands()...)
		return c
	}
	c.AddCommand(runCommand(), conformCommand(), gateCommand(), qualifyCommand(), checkContractCommand())
	c.AddCommand(matrixCommand(), perfCommand(), atlasCommand(), figuresCommand(), mergeCommand(), shardCommand())
	c.AddCommand(nightCommand(), storeCommand(), siteCommand(), bisectCommand())
	c.AddCommand(judgeCommand(), ladderCommand(), exportCommand(), explainCommand(), datasheetCommand(), tapeCommand(),
		passportCommand())
	c.AddCommand(listCommand(), qdCommand(), doctorCommand(), selfcheckCommand(), versionCommand())
	c.AddCommand(labCommands()...)
	c.AddCommand(testbedCommands()...)
	c.AddCommand(topics()...)
	describe(c)
	return c
}

// help has the long help of commands, a file for each, named after the path of the command.
//
//go:embed help/*.txt
var help embed.FS

// describe sets the help and the examples of a command and of the commands below it from their files. Long text in the
// code follows the text of the file.
func describe(c *cobra.Command) {
	path := strings.Split(c.CommandPath(), " ")
	if text, err := help.ReadFile("help/" + strings.Join(path[min(1, len(path)-1):], "-") + ".txt"); err == nil {
		long, examples, _ := strings.Cut(strings.TrimSuffix(string(text), "\n"), "Examples:\n")
		c.Long, c.Example = strings.TrimSpace(strings.TrimSpace(long)+"\n\n"+c.Long), examples
	}
	for _, below := range c.Commands() {
		describe(below)
	}
}
