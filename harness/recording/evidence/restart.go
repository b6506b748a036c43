package evidence

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// restart is a request with which another connection of the same QPNs may have begun, and those that follow it, until
// an answer to one of them shows how many requests the responder has counted: no more than those since then, or the
// earlier ones as well.
type restart struct {
	open   bool
	psn    psn.PSN // of the request
	reach  psn.PSN // after the newest request since then
	since  psn.MSN // requests since then, and at most those that are missing between them
	far    bool    // it is far from all requests before
	afresh bool    // it asks for something else than an earlier request with its PSN did
	again  uint8   // later requests that ask for the same as earlier ones with their PSNs did
}

// begins opens the restart with a request that has the PSNs up to end.
func (r *restart) begins(s *Sighting, end psn.PSN, far, afresh bool) {
	*r = restart{open: true, psn: s.PSN, reach: s.PSN, far: far, afresh: afresh}
	r.extends(s, end)
}

// takes processes a request which does not begin another connection, and reports whether it is one of those since then.
func (r *restart) takes(s *Sighting, end psn.PSN, far bool) bool {
	switch p := s.PSN; {
	case !r.open:
		return false
	case p.In(r.psn, r.reach.Add(farPSN)):
		r.extends(s, end)
	case far && p.In(r.psn.Add(-farPSN), r.psn): // the first of them was lost before the tap
		r.psn = p
		r.since++
	default:
		return false
	}
	return true
}

// repeats notes that a request, perhaps beyond those since then, asks for the same as an earlier one with its PSN, and
// reports whether that has been no coincidence: marks are short.
func (r *restart) repeats(p psn.PSN) bool {
	if r.reach.LessEq(p) {
		r.again++
	}
	return r.again > 1
}

// extends adds a request that is the newest one, or a repetition.
func (r *restart) extends(s *Sighting, end psn.PSN) {
	missing := s.PSN.Sub(r.reach)
	if missing < 0 {
		return
	}
	r.since += psn.MSN(missing)
	if s.Opcode.EndsMessage() {
		r.since++
	}
	r.reach = end
}

// earlier remembers the first message of a requester and the latest ones.
type earlier struct {
	first message
	list  []message
	next  int
}

// message is the PSNs of a message and what it asks for.
type message struct {
	from, to psn.PSN
	opcode   roce.Opcode
	mark     uint8
}

// earlierLimit is the number of messages that are remembered.
const earlierLimit = 64

// likeness is how a request compares with the earlier one that had its PSN.
type likeness uint8

const (
	unlike  likeness = iota // there was none, or it is forgotten
	repeats                 // it is sent again
	differs                 // it asked for something else
)

// like compares a request that may begin a message, with the PSNs up to end, with those remembered. A READ may be
// requested again from its middle on.
func (m *earlier) like(s *Sighting, end psn.PSN) likeness {
	for i := range m.list {
		if as := m.list[(m.next-1-i+2*len(m.list))%len(m.list)].like(s, end); as != unlike {
			return as
		}
	}
	return m.first.like(s, end)
}

// like compares a request with the message.
func (m *message) like(s *Sighting, end psn.PSN) likeness {
	switch {
	case !s.PSN.In(m.from, m.to):
		return unlike
	case s.Opcode != m.opcode:
		return differs
	case s.PSN == m.from && s.Mark == m.mark, s.PSN != m.from && s.Opcode == roce.ReadRequest && end == m.to:
		return repeats
	}
	return differs
}

// forgot reports whether a PSN is before those of all messages that are remembered.
func (m *earlier) forgot(p psn.PSN) bool {
	return len(m.list) == earlierLimit && p.Less(m.list[m.next].from)
}

// add remembers a request.
func (m *earlier) add(s *Sighting, end psn.PSN) {
	if n := len(m.list); !s.Opcode.StartsMessage() {
		if n > 0 {
			if e := &m.list[(m.next-1+n)%n]; e.to == s.PSN {
				e.to = end
			}
		}
		return
	}
	e := message{s.PSN, end, s.Opcode, s.Mark}
	if len(m.list) == 0 {
		m.first = e
	}
	if len(m.list) < earlierLimit {
		m.list = append(m.list, e)
		return
	}
	m.list[m.next%earlierLimit] = e
	m.next = (m.next + 1) % earlierLimit
}
