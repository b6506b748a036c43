package diw

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// TestReaderKeepsWhatIsInProgress: a fragment may be late by many complete datagrams.
func TestReaderKeepsWhatIsInProgress(t *testing.T) {
	var r reader
	read := func(id uint16, at int) *datagram {
		p := &roce.Packet{Payload: make([]byte, 8)}
		p.IP.ID, p.IP.Fragment = id, roce.NewFragment(at, at == 0)
		return r.read(&rule.Sight{Sight: trace.Sight{Pkt: p, Rec: &trace.Record{}}})
	}
	read(1, 0)
	for id := range uint16(2 * jointLimit) {
		read(2+id, 8)
		if read(2+id, 0) == nil {
			t.Fatalf("datagram %d is not joined", 2+id)
		}
	}
	if d := read(1, 8); d == nil || d.fragments != 2 {
		t.Errorf("the first is forgotten: %+v", d)
	}
	for id := range uint16(jointLimit + 1) {
		read(1000+id, 0)
	}
	if len(r.parts) != jointLimit || len(r.order) != jointLimit || read(1000, 8) != nil {
		t.Errorf("%d in progress, want the latest %d", len(r.parts), jointLimit)
	}
}
