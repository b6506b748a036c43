package main

import (
	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/conformance"
	"github.com/rdma-gauntlet/gauntlet/images"
	"github.com/rdma-gauntlet/gauntlet/netem"
)

// topics are the help topics shared by several commands; their texts are pages embedded in other packages.
func topics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "verdicts", Short: "What PASS, FAIL and INVALID mean, and the exit codes", Long: conformance.Verdicts},
		{Use: "links", Short: "What a link does to packets, how it is made, and in which time", Long: netem.Links},
		{Use: "contract", Short: "How a program in any language becomes an implementation", Long: images.Contract},
	}
}
