//go:build linux

// Command endpoint is the transport as a program that keeps Gauntlet's contract: gauntlet gate runs it with real
// packets.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/process"
	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"

	"example.org/transport"
)

func main() {
	impl := transport.Implementation()
	err := process.EndpointMain(os.Stdin, os.Stdout, impl.Name, func(string) (engine.Implementation, bool) {
		return impl, true
	})
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "endpoint:", err)
	if errors.Is(err, contract.ErrUnsupported) {
		os.Exit(contract.Unsupported)
	}
	os.Exit(1)
}
