package shim

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// scheme is the coding scheme, on which both ends must agree, and T_rob, which bounds the wait for a hole.
type scheme struct {
	r, c int
	wait vtime.Duration
}

// codingUnit is the unit of the packets of a block whose positions are congruent modulo c. It takes a unit of the
// endpoint when the first of them arrives.
type codingUnit struct {
	bound   bool
	lacking bool // no unit was free then: these packets cannot be repaired
	sum     []byte
	check   uint32 // sum of the digests of the packets added
}

// record marks a packet as arrived and adds it to its unit. Without a free unit it only marks the packet.
func (d *Decoder) record(s *trace.Sight, at int) {
	if d.there[at] {
		return
	}
	d.there[at] = true
	if s.Pkt.Opcode.EndsMessage() {
		d.size = at + 1
	}
	u := &d.units[at%d.scheme.c]
	if u.lacking = u.lacking || !u.bound && d.shared.units == 0; u.lacking {
		return
	}
	if !u.bound {
		u.bound = true
		d.shared.units--
	}
	b := CodedBytes(s.Raw)
	u.sum = fold(u.sum, b)
	u.check += roce.RepairDigest(b)
}

// open begins a block at p.
func (d *Decoder) open(p psn.PSN) {
	for i := range d.units {
		if u := &d.units[i]; u.bound {
			d.shared.units++
			u.bound = false
		}
	}
	if d.soon.pending && d.soon.first.LessEq(p) {
		d.scheme.r, d.scheme.c, d.soon.pending = d.soon.r, d.soon.c, false
	}
	for at := 0; d.Held > 0; at++ {
		if d.held[at] != nil {
			d.held[at] = nil
			d.shared.slot++
			d.Held--
		}
	}
	d.Base, d.size = p, 0
	d.there, d.held = resized(d.there, d.scheme.r), resized(d.held, d.scheme.r)
	if len(d.units) != d.scheme.c {
		d.units = make([]codingUnit, d.scheme.c)
	}
	for i := range d.units {
		d.units[i].sum, d.units[i].check, d.units[i].lacking = d.units[i].sum[:0], 0, false
	}
}

// resized returns s with n zero elements.
func resized[T any](s []T, n int) []T {
	s = slices.Grow(s[:0], n)[:n]
	clear(s)
	return s
}
