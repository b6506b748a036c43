package pack

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
)

// Data that Remote repeats for a READ of long ago take no place of a request in flight, however small the ring is.
func TestOldDataDisplaceNothing(t *testing.T) {
	p := &path{una: psn.New(580)}
	*p.slot(582) = request{used: true, psn: 582}
	size := len(p.slots)
	*p.slot(psn.New(uint32(582 - size))) = request{used: true, psn: psn.New(uint32(582 - size))}
	if r := p.find(582); r == nil || p.find(psn.New(uint32(582-size))) == nil {
		t.Errorf("request 582 is %v, in a ring of %d", r, len(p.slots))
	}
	*p.slot(0) = request{used: true}
	if p.find(582) == nil {
		t.Error("an old PSN took the place of a request in flight")
	}
}
