//go:build !linux

package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func checkContractCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check-contract PROGRAM | image:NAME",
		Short: "Walk a program through images/CONTRACT.md, step by step",
		RunE:  func(*cobra.Command, []string) error { return usage(errors.New("check-contract: needs Linux")) },
	}
}
