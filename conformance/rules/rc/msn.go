package rc

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

// msnBase converts the MSN of a packet to requests completed since the trace began. Its base is zero when the
// attributes are known, because the count starts with the connection; otherwise the first exact acknowledgement since
// the first request sets it.
type msnBase struct {
	known bool
	base  psn.MSN
}

// exact reports whether s acknowledges exactly the requests that were completed by what arrived in order, so that its
// MSN must be the current one. Packets of a request that is not complete may have arrived since.
func exact(c *rule.Context, s *rule.Sight) bool {
	p := s.Pkt
	if rule.NamesRequest(p) || rule.IsNAK(p) {
		return p.PSN == c.EPSN
	}
	all := p.PSN.Next() == c.EPSN
	return rule.IsACK(p) && (all || c.MSN > 0 && c.Ended.LessEq(p.PSN) && p.PSN.Less(c.EPSN))
}

// count returns the number of completed requests that s reports; ok is false while it cannot be known.
func (m *msnBase) count(c *rule.Context, s *rule.Sight) (n psn.MSN, ok bool) {
	if !m.known && (c.Known || c.Started && exact(c, s)) {
		m.known = true
		if !c.Known {
			m.base = s.Pkt.AETH.MSN.Add(-int(c.MSN))
		}
	}
	return s.Pkt.AETH.MSN.Add(-int(m.base)), m.known && c.Started
}

var msnCounts = rule.Rule{
	ID: "RC-MSN-001", Level: rule.Must, Rests: validity.Sequence,
	Title: "The MSN is the number of completed requests modulo 2^24: it starts at 0 and never decreases",
	Source: rule.Source{Ref: "IBTA 9.7.7.1", Requirement: "The responder initialises its MSN to zero and " +
		"increments it when it completes a new request message."},
	Needs: rule.Frames, Sees: rule.RequestOut | rule.ResponseOut, Stimulus: "acknowledged messages",
	BlackBox: hardware,
	Keeps:    true, Each: func(c *rule.Context, s *rule.Sight) {
		if !c.Offers(rule.TapResponder) {
			rule.State[msnAfar](c).sight(c, s)
		} else if s.Point == trace.ResponderOut {
			rule.State[msnCount](c).response(c, s)
		}
	},
}

// msnCount compares each MSN with the number of requests that arrived.
type msnCount struct {
	base msnBase
	last psn.MSN // of the latest acknowledgement, less base
	any  bool    // last is set
}

func (m *msnCount) response(c *rule.Context, s *rule.Sight) {
	if s.Pkt.Opcode != roce.Acknowledge && !rule.NamesRequest(s.Pkt) || c.Fatal {
		return // a replayed READ response may carry an old MSN
	}
	n, ok := m.base.count(c, s)
	switch {
	case !ok:
		return
	case m.any && n.Less(m.last):
		c.Fail(rule.Responder, fmt.Sprintf("MSN decreases from %d to %d", m.last, n)+acrossWrap(m.last, n))
	case c.MSN.Less(n):
		c.Fail(rule.Responder, fmt.Sprintf("MSN counts %d completed requests; %d have arrived", n, c.MSN)+
			acrossWrap(n, c.MSN))
	case exact(c, s) && n != c.MSN:
		c.Fail(rule.Responder, fmt.Sprintf("MSN counts %d completed requests; %d have been acknowledged", n, c.MSN)+
			acrossWrap(n, c.MSN))
	default:
		c.Met()
	}
	if !rule.NamesRequest(s.Pkt) { // it may leave before older ACKs
		m.any, m.last = true, n
	}
}

var msnOperations = rule.Rule{
	ID: "RC-MSN-002", Level: rule.Must, Rests: validity.Sequence,
	Title: "The MSN counts a READ when its request is accepted, and a SEND or WRITE when its last packet is",
	Source: rule.Source{Ref: "IBTA 9.7.7.1, C9-148", Requirement: "A SEND or RDMA WRITE is completed by its last " +
		"packet, an RDMA READ or atomic when its request is executed."},
	Needs: rule.TapResponder, Sees: rule.Accepts | rule.ResponseOut, Minds: rule.Edge | rule.Fetch | rule.Answer,
	Stimulus: "READs, and acknowledgements inside messages", BlackBox: hardware,
	Keeps: true, Each: rule.Kept((*msnMoments).sight),
}

// msnMoments checks the MSN where the moment of counting is visible: inside a message, in the answers to READs and
// atomics, and in an answer that acknowledges a message.
type msnMoments struct {
	base   msnBase
	inside bool    // the latest accepted request packet did not end its message
	acked  psn.PSN // newest PSN acknowledged; valid when base is known
	// the latest READs and atomics, and requests that were not acknowledged when the next one was accepted; nil before
	// the first, so that a flow of one message at a time costs nothing
	ended *rule.Latest[msnEnd]
}

// msnEnd is a request that was accepted as a whole.
type msnEnd struct {
	first psn.PSN // PSN of the packet that ended it
	n     int32   // PSNs from first on: 1, or the responses of a READ; 0 when not known
	msn   psn.MSN // requests completed, this one included
}

func (m *msnMoments) sight(c *rule.Context, s *rule.Sight) {
	p := s.Pkt
	if s.Point == trace.ResponderIn {
		if s.Legal {
			m.accept(c, p)
		}
		return
	}
	if !rule.HasAETH(p.Opcode) || p.Opcode.NumberedApart() || c.Fatal {
		return
	}
	known := m.base.known
	n, ok := m.base.count(c, s)
	switch {
	case !ok:
	case p.Opcode == roce.AtomicAck, p.Opcode.IsReadResponse():
		m.data(c, p, n)
	case exact(c, s) && m.inside && p.AETH.Syndrome.IsACK():
		judgeMSN(c, n == c.MSN, "an acknowledgement inside a message has MSN %d, %d messages are complete", n, c.MSN)
	case p.Opcode == roce.Acknowledge:
		m.acknowledged(c, p, n)
	}
	if last, is := rule.Acknowledged(p); is && (!known || m.acked.Less(last)) {
		m.acked = last
	}
}

// accept remembers a READ or atomic, and the request before if it still waits for its acknowledgement.
func (m *msnMoments) accept(c *rule.Context, p *roce.Packet) {
	if m.inside = !p.Opcode.EndsMessage(); m.inside {
		return
	}
	if c.MSN > 0 && c.Ended.Less(c.EPSN) && !(m.base.known && c.Ended.LessEq(m.acked)) {
		m.remember(msnEnd{c.Ended, 1, c.MSN})
	}
	if p.Opcode.IsRead() || p.Opcode.IsAtomic() {
		m.remember(msnEnd{p.PSN, int32(c.Span(p)), c.MSN.Next()})
	}
}

func (m *msnMoments) remember(e msnEnd) {
	const most = 64
	if m.ended == nil {
		m.ended = new(rule.Latest[msnEnd])
	}
	m.ended.Add(e, most)
}

// data judges an answer with data, which may have waited while later requests were accepted.
func (m *msnMoments) data(c *rule.Context, p *roce.Packet, n psn.MSN) {
	what := "a READ response has MSN %d, its READ is number %d"
	if p.Opcode == roce.AtomicAck {
		what = "the answer to an atomic has MSN %d, the atomic is number %d"
	}
	asked := func(e msnEnd) bool { return p.PSN.In(e.first, e.first.Add(int(e.n))) }
	if want, ok := m.counted(c, asked); ok {
		judgeMSN(c, !n.Less(want) && !c.MSN.Less(n), what, n, want)
	}
}

// acknowledged judges an ACK or NAK: it counts every request that it acknowledges.
func (m *msnMoments) acknowledged(c *rule.Context, p *roce.Packet, n psn.MSN) {
	last, _ := rule.Acknowledged(p)
	want, ok := m.counted(c, func(e msnEnd) bool { return e.n > 0 && e.first.Add(int(e.n)-1).LessEq(last) })
	if ok && n.Less(want) {
		judgeMSN(c, false, "an answer to "+c.Rel(last)+" has MSN %d and acknowledges request number %d", n, want)
	}
}

// counted returns the MSN after the newest accepted request that is as asked. A request that the responder has refused
// since counts no more.
func (m *msnMoments) counted(c *rule.Context, is func(msnEnd) bool) (psn.MSN, bool) {
	if m.ended == nil {
		return 0, false
	}
	for e := range m.ended.Newest {
		if !c.MSN.Less(e.msn) && is(e) {
			return e.msn, true
		}
	}
	return 0, false
}

func judgeMSN(c *rule.Context, good bool, format string, n, want psn.MSN) {
	if good {
		c.Met()
	} else {
		c.Fail(rule.Responder, fmt.Sprintf(format, n, want)+acrossWrap(n, want))
	}
}

var msnDuplicate = rule.Rule{
	ID: "RC-MSN-003", Level: rule.Must, Rests: validity.Sequence,
	Title: "A duplicate request does not advance the MSN",
	Source: rule.Source{Ref: "IBTA 9.7.7.1", Requirement: "The MSN is incremented for new requests only; a " +
		"duplicate leaves it as it is."},
	Needs: rule.TapResponder, Sees: rule.RequestIn | rule.ResponseOut, Minds: rule.Late | rule.Answer,
	Stimulus: "a duplicate request", BlackBox: hardware,
	Keeps: true, Each: rule.Kept((*msnStays).sight),
}

// msnStays compares the MSN of the answer to a duplicate with the number of requests that arrived.
type msnStays struct {
	base      msnBase
	duplicate bool // a duplicate has arrived and no ACK has left since
}

func (m *msnStays) sight(c *rule.Context, s *rule.Sight) {
	if s.Point == trace.ResponderIn {
		m.duplicate = m.duplicate || s.Relation == rule.Duplicate
		return
	}
	if s.Pkt.Opcode != roce.Acknowledge || c.Fatal {
		return
	}
	n, ok := m.base.count(c, s)
	switch {
	case !ok || !m.duplicate:
	case c.MSN.Less(n):
		c.Fail(rule.Responder, fmt.Sprintf("MSN %d after a duplicate, %d requests have arrived", n, c.MSN)+
			acrossWrap(n, c.MSN))
	default:
		c.Met()
	}
	m.duplicate = m.duplicate && !(ok && s.Pkt.AETH.Syndrome.IsACK())
}
