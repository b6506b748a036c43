package pack

import (
	"net/netip"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// request is one PSN that Local has used, with the fields to compare later.
type request struct {
	used    bool
	asked   bool // Local has sent a request with this PSN; packet and sum are its
	psn     psn.PSN
	end     psn.PSN     // PSN after the request
	packet  roce.Packet // without payload
	sum     uint32
	count   int         // number of messages that end with it or before
	at      vtime.Time  // its arrival
	ack     roce.Packet // the pseudo-ACK of this PSN, if hasACK is set
	hasACK  bool
	floor   psn.MSN  // newest MSN that Local had received before ack
	address address  // of ack
	data    []answer // responses of Remote with this PSN: the latest, after others that may wait for the line to Local
}

// slotLimit bounds the PSNs remembered.
const slotLimit = 1 << 18

// slot returns the entry of a PSN in a ring that grows with the span in flight. Data of an old READ that Remote repeats
// do not take the place of a request in flight.
func (p *path) slot(x psn.PSN) *request {
	for crowded(p.slots, x, p.una) && len(p.slots) < slotLimit {
		old := p.slots
		p.slots = make([]request, max(256, 2*len(old)))
		for i := range old {
			if old[i].used {
				p.slots[int(old[i].psn)&(len(p.slots)-1)] = old[i]
			}
		}
	}
	return &p.slots[int(x)&(len(p.slots)-1)]
}

// crowded reports whether a ring has no entry for PSN x, when requests from una on are in flight.
func crowded(ring []request, x, una psn.PSN) bool {
	if len(ring) == 0 || x.Sub(una)+64 > len(ring) {
		return true
	}
	r := &ring[int(x)&(len(ring)-1)]
	return r.used && r.psn != x && una.LessEq(r.psn)
}

// find returns the request of a PSN; nil for an unknown PSN.
func (p *path) find(x psn.PSN) *request {
	if len(p.slots) == 0 {
		return nil
	}
	if r := &p.slots[int(x)&(len(p.slots)-1)]; r.used && r.psn == x {
		return r
	}
	return nil
}

// address is the source and the destination of a frame.
type address struct {
	src, dst     netip.Addr
	sport, dport uint16
}

// addressOf returns the addresses of a frame; zero without bytes.
func addressOf(raw []byte) (a address) {
	var f roce.Frame
	if raw == nil || f.Decode(raw) != nil {
		return a
	}
	return address{f.Src, f.Dst, f.SrcPort, f.DstPort}
}
