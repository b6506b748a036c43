package main

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/conform"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/contractcheck"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/registry"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
)

func checkContractCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check-contract PROGRAM | image:NAME",
		Short: "Walk a program through images/CONTRACT.md, step by step",
		Long: `Walk a program, or that of a container image, through images/CONTRACT.md, step by step, and stop at the first that it fails, with what is wrong.

The last steps let it talk to go-back-N over a link that loses nothing; what it does with loss is for conform to say.
Exit codes: 0 it keeps the contract; 1 it does not; 3 the machine was too busy to tell.`,
		Example: "  gauntlet check-contract images/example-c/gbn\n  gauntlet check-contract image:gauntlet/example-c",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if runtime.GOOS != "linux" {
				return usage(errors.New("check-contract: needs Linux"))
			}
			o := contractcheck.Options{Name: args[0], Where: "container", Attempts: conform.Attempts}
			if !strings.HasPrefix(args[0], scenario.Image) {
				o.Name, o.Where = scenario.Exec+strings.TrimPrefix(args[0], scenario.Exec), "netns"
			}
			var err error
			if o.Bench, err = registry.Open(o.Where, ""); err != nil {
				return err
			}
			return failed(contractcheck.Walk(c.Context(), o, printStep))
		},
	}
}

func printStep(s contractcheck.Step) {
	if s.Err != nil {
		fmt.Fprintf(stdout, "FAIL  %d of %d  %s\n      %s\n", s.Number, s.Of, s.Name, fault.OneLine(s.Err))
		return
	}
	fmt.Fprintf(stdout, "ok    %d of %d  %s%s\n", s.Number, s.Of, s.Name, s.Note)
}

// failed ends with the exit code of the step that failed: it is the program's fault, unless something else was at fault.
func failed(err error) error {
	switch {
	case err == nil:
		return nil
	case fault.Of(err) == fault.User:
		return exit{code: exitUsage}
	case fault.Of(err) == fault.Harness:
		return exit{code: exitBroken}
	}
	return exit{code: exitFailure}
}
