package main

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/topology"
)

// needNetns skips the test, with the reason, where it cannot make namespaces.
func needNetns(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: runs in real time")
	}
	if topology.Privileged() == nil {
		return
	}
	if err := topology.Rootless("process", "privileged"); err != nil {
		t.Skip(err)
	}
}
