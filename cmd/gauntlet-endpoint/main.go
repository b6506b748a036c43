//go:build linux

// Command gauntlet-endpoint is an engine of this repository as a program that keeps images/CONTRACT.md, and nothing
// else. An image needs no more of the repository; it has a fifth of the size of gauntlet.
//
// Exit codes: 0 it ran to the end of its orders; 127 it does not support something that was asked for; 1 it failed.
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
	// As process 1 of its namespace it would not be ended by the signal, and Go would then exit with code 2.
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
