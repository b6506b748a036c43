package recording

import (
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

// again takes a packet and reports whether it comes again at once. The same ACK may leave for each of several
// duplicates, one behind the other.
func (r *repeated) again(s *sighting) bool {
	g := glance{true, s.at, s.psn, s.sack, s.msn, s.opcode, s.syndrome, s.ackReq}
	found, between := false, false
	for i := range uint8(len(r.latest)) { // the newest first
		old := r.latest[(r.next-1-i)%uint8(len(r.latest))]
		same := old
		if same.at = s.at; same == g && s.at.Sub(old.at) <= atOnce {
			found = between || s.opcode != roce.Acknowledge || !s.grants()
			break
		}
		between = true
	}
	r.latest[r.next%uint8(len(r.latest))] = g
	r.next++
	return found
}
