package evidence

import (
	"maps"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// repeated holds the latest packets that one end sent in a half-conversation. A packet that repeats within atOnce was
// sent twice or recorded twice by the tap; only the other tap can tell which. One with another IPv4 identification,
// which no network changes, was sent twice.
type repeated struct {
	latest []glance // oldest first; from from on they passed within atOnce, or are the newest
	from   int
}

// glance holds the fields by which packets are compared.
type glance struct {
	at       vtime.Time
	psn      psn.PSN
	sack     psn.PSN
	msn      psn.MSN
	id       uint16
	opcode   roce.Opcode
	syndrome roce.Syndrome
	ackReq   bool
}

// atOnce is the time within which a tap records a packet twice. A retransmission comes later, because its sender must
// learn of a loss first.
const atOnce = 2 * vtime.Microsecond

// copies counts repeated requests; for each of them the same ACK may leave once more.
type copies struct {
	left   uint32
	newest psn.PSN
	kept   bool    // the responder keeps what is early: an ACK of a later request may leave before those of duplicates
	acked  psn.PSN // newest PSN acknowledged, by a NAK of the next one too; valid when any is true
	any    bool
}

// news records an acknowledgement of a PSN, and reports whether it is the first of that or a later one.
func (c *copies) news(p psn.PSN) bool {
	first := !c.any || c.acked.Less(p)
	if first {
		c.acked, c.any = p, true
	}
	return first
}

// add counts a repeated request with PSN p.
func (c *copies) add(p psn.PSN) {
	if c.left == 0 || c.newest.Less(p) {
		c.newest = p
	}
	c.left++
}

// glanceLimit bounds the packets that are remembered: by coarse time stamps any number passes at once.
const glanceLimit = 1 << 7

// since returns the newest packet and those within atOnce before a time, oldest first.
func (r *repeated) since(at vtime.Time) []glance {
	for n := len(r.latest) - r.from; n == glanceLimit || n > 1 && at.Sub(r.latest[r.from].at) > atOnce; n-- {
		r.from++
	}
	if 2*r.from >= len(r.latest) {
		r.latest, r.from = slices.Delete(r.latest, 0, r.from), 0
	}
	return r.latest[r.from:]
}

// again records a packet and reports whether it repeats within atOnce. An ACK may repeat once per duplicate request,
// until an ACK of a later request leaves.
func (r *repeated) again(s *Sighting, of *copies) bool {
	g := glance{s.At, s.PSN, s.SACK, s.MSN, s.ID, s.Opcode, s.Syndrome, s.AckReq}
	before := r.since(s.At)
	follows := len(before) > 0 && before[len(before)-1].same(g)
	soon := slices.ContainsFunc(before, func(old glance) bool {
		return old.psn == g.psn && s.At.Sub(old.at) <= atOnce && old.same(g)
	})
	switch {
	case s.Opcode.IsReadAck() && soon && of.left > 0:
		of.left--
		soon = false
	case s.Opcode != roce.Acknowledge:
	case !s.grants():
		of.news(s.PSN.Prev())
	default:
		news := of.news(s.PSN)
		switch {
		case of.kept && !news && of.left > 0:
			of.left--
			soon = false
		case of.kept:
		case follows && of.left > 0:
			of.left--
			soon = false
		case !follows && news && of.newest.Less(s.PSN):
			of.left = 0
		}
	}
	r.latest = append(r.latest, g)
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
