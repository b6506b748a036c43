package netns

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// A program over IP has the addresses of the built-in engines over IP, which hear no others.
func TestAside(t *testing.T) {
	var o contract.Order
	if aside(&o, trace.B); o.MAC != "02:00:00:78:00:02" || o.PeerMAC != "02:00:00:78:00:01" {
		t.Errorf("%s and %s", o.MAC, o.PeerMAC)
	}
}
