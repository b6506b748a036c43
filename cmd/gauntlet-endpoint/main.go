//go:build linux

// Command gauntlet-endpoint is an engine of this repository as a program that keeps images/CONTRACT.md, and nothing
// else: what an image of it needs, in a fifth of the size of the whole.
//
// Exit codes: 0 it did what it was told; 127 it was asked for something that it does not have; 1 it failed.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/process"
	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintf(os.Stderr, "usage: gauntlet-endpoint IMPLEMENTATION, one of %s; it is started by "+
			"gauntlet run --impl\n", strings.Join(all.Names(), " "))
		os.Exit(2)
	}
	// As the first process of its namespace it has no default for the signal, and Go's is exit code 2.
	leave := make(chan os.Signal, 1)
	signal.Notify(leave, syscall.SIGTERM)
	go func() {
		<-leave
		os.Exit(0)
	}()
	err := process.EndpointMain(os.Stdin, os.Stdout, os.Args[1], all.Find)
	switch {
	case errors.Is(err, contract.ErrUnsupported):
		fmt.Fprintln(os.Stderr, "gauntlet-endpoint:", err)
		os.Exit(contract.Unsupported)
	case err != nil:
		fmt.Fprintln(os.Stderr, "gauntlet-endpoint:", err)
		os.Exit(1)
	}
}
