package evidence

import (
	"maps"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// repeated holds the latest packets that one end sent in a half-conversation. A packet that repeats within atOnce was
// sent twice or recorded twice by the tap; only the other tap can tell which.
type repeated struct {
	latest [4]glance
	next   uint8
}

// glance holds the fields by which packets are compared.
type glance struct {
	at       vtime.Time
	psn      psn.PSN
	sack     psn.PSN
	msn      psn.MSN
	opcode   roce.Opcode
	syndrome roce.Syndrome
	ackReq   bool
	any      bool // the entry is used
}

// atOnce is the time within which a tap records a packet twice. A retransmission comes later, because its sender must
// learn of a loss first.
const atOnce = 2 * vtime.Microsecond

// copies counts repeated requests; for each of them the same ACK may leave once more.
type copies struct {
	left   uint32
	newest psn.PSN
	kept   bool // the responder keeps what is early: an ACK of a later request may leave before those of duplicates
}

// add counts a repeated request with PSN p.
func (c *copies) add(p psn.PSN) {
	if c.left == 0 || c.newest.Less(p) {
		c.newest = p
	}
	c.left++
}

// again records a packet and reports whether it repeats within atOnce. An ACK may repeat once per duplicate request,
// until an ACK of a later request leaves.
func (r *repeated) again(s *Sighting, of *copies) bool {
	g := glance{s.At, s.PSN, s.SACK, s.MSN, s.Opcode, s.Syndrome, s.AckReq, true}
	soon := false
	for i := range r.latest {
		old := &r.latest[i]
		soon = soon || old.psn == g.psn && old.same(g) && s.At.Sub(old.at) <= atOnce
	}
	if s.Opcode == roce.Acknowledge && s.grants() {
		newest := r.latest[(r.next-1)%uint8(len(r.latest))]
		switch {
		case of.kept && soon && of.left > 0:
			of.left--
			soon = false
		case of.kept:
		case newest.same(g) && of.left > 0:
			of.left--
			soon = false
		case !newest.same(g) && of.newest.Less(s.PSN):
			of.left = 0
		}
	}
	r.latest[r.next%uint8(len(r.latest))] = g
	r.next++
	return soon
}

// same reports whether two glances are equal except in time.
func (g glance) same(o glance) bool {
	g.at = o.at
	return g == o
}

// resends holds the requests of a half-conversation that were sent again and are not acknowledged yet, where the
// responder keeps what is early.
type resends struct {
	since map[psn.PSN]bool // nil where it does not
	full  bool             // there were too many: any may have been sent again
}

// resendLimit bounds resends, far above the losses of one window.
const resendLimit = 1 << 12

// add records that p was sent again.
func (r *resends) add(p psn.PSN) {
	switch {
	case r.since == nil:
	case len(r.since) == resendLimit:
		r.full = true
	default:
		r.since[p] = true
	}
}

// has reports whether p may have been sent again; all before p are acknowledged.
func (r *resends) has(p psn.PSN) bool {
	maps.DeleteFunc(r.since, func(q psn.PSN, _ bool) bool { return q.Less(p) })
	r.full = r.full && len(r.since) > 0
	return r.full || r.since[p]
}
