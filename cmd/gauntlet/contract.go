package main

import (
	"errors"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/conform"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/contractcheck"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
)

func checkContractCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check-contract PROGRAM | image:NAME",
		Short: "Walk a program through images/CONTRACT.md, step by step",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if runtime.GOOS != "linux" {
				return usage(errors.New("check-contract: needs Linux"))
			}
			o, err := contractcheck.Open(args[0], 4*conform.Attempts) // its runs are short
			if err != nil {
				return err
			}
			return failed(contractcheck.Walk(c.Context(), o, func(s contractcheck.Step) { s.Print(stdout) }))
		},
	}
}

// failed ends with the exit code of the step that failed: the program is to blame, unless the error names another
// cause.
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
