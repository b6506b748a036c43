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
		Short: "Check a program against images/CONTRACT.md, step by step",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if runtime.GOOS != "linux" {
				return usage(errors.New("check-contract: needs Linux"))
			}
			// more attempts than usual, because the runs are short
			o, err := contractcheck.Open(args[0], 4*conform.Attempts)
			if err != nil {
				return err
			}
			return failed(contractcheck.Walk(c.Context(), o, func(s contractcheck.Step) { s.Print(stdout) }))
		},
	}
}

// failed returns the error for the exit code after a step that failed. The program is to blame, unless the error says
// otherwise.
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
