package wire

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// asked is a READ request as the responder received it.
type asked struct {
	first psn.PSN
	n     int // response packets
	bytes int
}

// reads remembers the latest READ requests, more than a responder serves at a time.
type reads struct {
	ring []asked // readsKept at most
	next int     // the oldest of so many
}

const readsKept = 32

// add remembers a READ request.
func (r *reads) add(c *rule.Context, p *roce.Packet) {
	a := asked{p.PSN, c.Packets(p.RETH.DMALen), int(p.RETH.DMALen)}
	if len(r.ring) < readsKept {
		r.ring = append(r.ring, a)
		return
	}
	r.ring[r.next] = a
	r.next = (r.next + 1) % readsKept
}

// payload returns how many bytes the response with this PSN must bring; ok is false when no known READ asked for it.
func (r *reads) payload(at psn.PSN, mtu int) (want int, ok bool) {
	for i := range r.ring {
		a := &r.ring[(r.next-1-i+2*len(r.ring))%len(r.ring)]
		if k := at.Sub(a.first); a.n > 0 && k >= 0 && k < a.n {
			return min(a.bytes-k*mtu, mtu), a.n == 1 || mtu > 0
		}
	}
	return 0, false
}

// sameRead reports whether one known READ asked for both responses.
func (r *reads) sameRead(a, b psn.PSN) bool {
	for i := range r.ring {
		x := &r.ring[i]
		if end := x.first.Add(x.n); x.n > 0 && a.In(x.first, end) && b.In(x.first, end) {
			return true
		}
	}
	return false
}
