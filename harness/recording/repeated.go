package recording

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// repeated remembers the latest packets that one end sent for a half-conversation. One that comes again at once was
// sent twice, or the tap has recorded it twice, and nobody can tell which unless the other tap shows it.
type repeated struct {
	latest [4]glance
	next   uint8
}

// glance is what tells a packet from others at a look.
type glance struct {
	any      bool // there is one
	at       vtime.Time
	psn      psn.PSN
	sack     psn.PSN
	msn      psn.MSN
	opcode   roce.Opcode
	syndrome roce.Syndrome
	ackReq   bool
}

// atOnce is within which time a packet comes again that a tap records twice. What an end sends again comes later,
// because it has to hear of a loss first.
const atOnce = 2 * vtime.Microsecond

// copies are the requests that came once more, for each of which the same ACK may leave once more.
type copies struct {
	left   uint32
	newest psn.PSN
}

// add takes one, up to a PSN.
func (c *copies) add(p psn.PSN) {
	if c.left == 0 || c.newest.Less(p) {
		c.newest = p
	}
	c.left++
}

// again takes a packet and reports whether it comes again at once. The same ACK leaves once more for a duplicate, until
// one leaves for what came later.
func (r *repeated) again(s *sighting, of *copies) bool {
	g := glance{true, s.at, s.psn, s.sack, s.msn, s.opcode, s.syndrome, s.ackReq}
	newest := r.latest[(r.next-1)%uint8(len(r.latest))]
	soon := slices.ContainsFunc(r.latest[:], func(old glance) bool {
		return old.same(g) && s.at.Sub(old.at) <= atOnce
	})
	switch {
	case s.opcode != roce.Acknowledge || !s.grants():
	case newest.same(g) && of.left > 0:
		of.left--
		soon = false
	case !newest.same(g) && of.newest.Less(s.psn):
		of.left = 0
	}
	r.latest[r.next%uint8(len(r.latest))] = g
	r.next++
	return soon
}

// same reports whether two glances are of packets that look the same.
func (g glance) same(o glance) bool {
	g.at = o.at
	return g == o
}
