package pack

import (
	"net/netip"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// request is one PSN that Local has used, with the fields that are compared later.
type request struct {
	used    bool
	asked   bool // Local has sent a request with this PSN: packet and sum are its
	psn     psn.PSN
	end     psn.PSN
	packet  roce.Packet // without payload
	sum     uint32
	count   int // messages that have ended with it
	sent    int // times that it left for Remote
	at      vtime.Time
	size    int         // bytes of the frame
	ack     roce.Packet // the pseudo-ACK that named it, when hasACK
	hasACK  bool
	floor   psn.MSN  // newest MSN that Local had seen before it
	address address  // of that
	data    []answer // of Remote with this PSN: the latest, behind others that may still wait for the line to Local
}

// slotLimit bounds the PSNs that are remembered.
const slotLimit = 1 << 18

// slot returns the place of a PSN in a ring that grows with the span in flight.
func (p *path) slot(x psn.PSN) *request {
	for need := x.Sub(p.una) + 64; need > len(p.slots) && len(p.slots) < slotLimit; {
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

// address is where a frame comes from and goes to.
type address struct {
	src, dst     netip.Addr
	sport, dport uint16
}

// addressOf returns the addresses of a frame, zeros when there are no bytes.
func addressOf(raw []byte) (a address) {
	var f roce.Frame
	if raw == nil || f.Decode(raw) != nil {
		return a
	}
	return address{f.Src, f.Dst, f.SrcPort, f.DstPort}
}
