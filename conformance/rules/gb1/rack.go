package gb1

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var rackNamesBoth = rule.Rule{
	ID: "GB1-RACK-001", Level: rule.Must,
	Title: "Data ahead of the expected PSN draws a RACK that carries the expected PSN and the received one",
	Source: rule.Source{Ref: "GB1 IV-B, Fig. 7", Requirement: "By assembling a user-defined packet header that " +
		"carries the sequence number of the currently received packet and the sequence number of the expected " +
		"packet, the sender can be informed which packets are not received successfully."},
	Needs: rule.TapResponder | rule.Attributes, Sees: rule.RequestIn | rule.ResponseOut, Features: features,
	Stimulus: "a lost request followed by others", BlackBox: engines,
	New: func(c *rule.Context) rule.Check {
		b := bothNumbers{c: c, arrivals: arrivals{c: c}, first: c.Owes(rule.Responder, "no RACK of %s")}
		return rule.Check{Sight: b.sight, End: b.arrivals.end}
	},
}

// bothNumbers compares RACKs with the out-of-order packets that they name. A gap that draws no RACK is judged when it
// closes, or at the end.
type bothNumbers struct {
	c        *rule.Context
	arrivals arrivals
	recent   rule.Latest[psn.PSN] // PSNs named already; GB1-RACK-002 judges RACKs that repeat them
	first    *rule.Obligation     // to answer the open gap with a RACK
}

// mostRecent bounds the RACKs remembered.
const mostRecent = 64

func (b *bothNumbers) sight(s *rule.Sight) {
	c, p := b.c, s.Pkt
	b.arrivals.settle(s.At)
	switch {
	case s.Point == trace.ResponderIn:
		if s.Relation == rule.InOrder {
			b.first.Close(s.At)
		}
		open := c.GapOpen
		if b.arrivals.early(s) && !open && !b.first.Owed() {
			b.first.Arise(s, p.PSN)
		}
	case isRACK(p):
		b.rack(s)
	case p.AETH.Syndrome.IsRNR():
		b.arrivals.refuse(p)
	}
}

func (b *bothNumbers) rack(s *rule.Sight) {
	c, p := b.c, s.Pkt
	b.first.Excuse(nil)
	x, ok := b.arrivals.named(p)
	switch {
	case !ok && !slices.Contains(b.recent.List(), p.SACK.PSN) && !b.arrivals.excused(p):
		b.arrivals.doubted(s, "RACK names "+c.Rel(p.SACK.PSN)+", which did not arrive out of order")
		return
	case !ok:
		return
	case p.PSN.Less(x.expected) || c.EPSN.Less(p.PSN):
		b.arrivals.doubted(s, "RACK of "+c.Rel(x.psn)+" expects "+c.Rel(p.PSN)+"; expected was "+c.Rel(x.expected))
	default:
		c.Met()
	}
	b.recent.Add(x.psn, mostRecent)
}

var rackEach = rule.Rule{
	ID: "GB1-RACK-002", Level: rule.Must,
	Title: "Each out-of-order packet draws one RACK, and none is suppressed",
	Source: rule.Source{Ref: "GB1 IV-C2, Algorithm 1", Requirement: "If the signal value returned is the signal value " +
		"of out-of-order and packet loss, a custom response packet RACK is constructed."},
	Needs: rule.TapResponder | rule.Attributes, Sees: rule.RequestIn | rule.ResponseOut, Features: features,
	Stimulus: "a lost request followed by several", BlackBox: engines,
	New: func(c *rule.Context) rule.Check {
		e := each{c: c, arrivals: arrivals{c: c}}
		return rule.Check{Sight: e.sight, End: e.end}
	},
}

// each matches RACKs with out-of-order packets, one to one.
type each struct {
	c        *rule.Context
	arrivals arrivals
	second   bool // a gap had more than one out-of-order packet
}

func (e *each) sight(s *rule.Sight) {
	c, p := e.c, s.Pkt
	e.overdue(s.At)
	switch {
	case s.Point == trace.ResponderIn:
		again := c.GapOpen
		e.second = e.arrivals.early(s) && again || e.second
	case isRACK(p):
		if _, ok := e.arrivals.named(p); !ok && !e.arrivals.excused(p) {
			e.arrivals.doubted(s, "a RACK of "+c.Rel(p.SACK.PSN)+" too many")
		} else if e.second {
			c.Met()
		}
	case p.AETH.Syndrome.IsRNR():
		e.arrivals.refuse(p)
	case rule.IsACK(p):
		e.arrivals.covered(p.PSN)
	}
}

// overdue judges the oldest packets whose RACKs should have left.
func (e *each) overdue(now vtime.Time) {
	e.arrivals.settle(now)
	for len(e.arrivals.list) > 0 && e.c.Late(rule.Responder, e.arrivals.list[0].at, rule.Patience, now) {
		e.missing(e.arrivals.list[0])
		e.arrivals.list = e.arrivals.list[1:]
	}
}

// end judges the packets that had time for their RACKs, or were overtaken.
func (e *each) end(at vtime.Time) {
	e.overdue(at)
	for _, x := range e.arrivals.list {
		if x.passed {
			e.missing(x)
		}
	}
	e.arrivals.end(at)
}

func (e *each) missing(x arrival) {
	if !e.c.Fatal {
		e.c.FailAt(x.at, x.record, rule.Responder, "no RACK of "+e.c.Rel(x.psn))
	}
}

var rackOpcode = rule.Rule{
	ID: "GB1-RACK-003", Level: rule.Must, Rests: validity.Frames,
	Title: "A RACK differs from an ACK by its opcode; no sequence NAK replaces it",
	Source: rule.Source{Ref: "GB1 IV-C2", Requirement: "The value of the protocol field is set to 0xFD, so that " +
		"the sender can distinguish ACK and RACK."},
	Needs: rule.TapResponder | rule.Frames, Sees: rule.ResponseOut, Features: features,
	Stimulus: "a lost request followed by others", BlackBox: engines,
	Each: func(c *rule.Context, s *rule.Sight) {
		if m := c.Maker(s); m != rule.AtPort && m != rule.Sealed {
			return
		}
		p := s.Pkt
		switch a := p.AETH.Syndrome; {
		case p.Opcode == roce.Acknowledge && a == roce.SyndromePSNSeqErr:
			c.Failf(rule.Responder, "a sequence NAK of %s in place of a RACK", c.Rel(p.PSN))
		case isRACK(p) && a != roce.SyndromePSNSeqErr:
			c.Failf(rule.Responder, "RACK of %s with syndrome %#02x, which is not that of a missing packet",
				c.Rel(p.SACK.PSN), uint8(a))
		case isRACK(p):
			c.Met()
		}
	},
}

// portPackets is how many packets an endpoint may have handed to its port when a RACK is made.
const portPackets = 16

var rackFirst = rule.Rule{
	ID: "GB1-RACK-004", Level: rule.Must,
	Title: "A RACK leaves ahead of READ data and ACKs that wait",
	Source: rule.Source{Ref: "GB1 IV-C2", Requirement: "Finally, it is added to the high-priority send queue, " +
		"triggering the network interface to transmit."},
	Needs: rule.TapResponder | rule.Attributes, Sees: rule.RequestIn | rule.ResponseOut, Features: features,
	Stimulus: "a lost request while READ data are being sent", BlackBox: engines,
	New: func(c *rule.Context) rule.Check {
		return rule.Check{Sight: (&priority{arrivals: arrivals{c: c}}).sight}
	},
}

// priority counts the responses that leave before the oldest RACK that waits. Packets that reached the port before the
// early one are processed before it, and their ACKs precede its RACK.
type priority struct {
	arrivals
	passed  int  // responses that left since the early packet came
	waiting int  // ACKs that the packets before it have still to draw
	before  int  // waiting when the early packet came
	reading bool // READ data are being sent
}

func (q *priority) sight(s *rule.Sight) {
	p := s.Pkt
	switch {
	case s.Point == trace.ResponderIn:
		q.arrives(s)
	case p.AETH.Syndrome.IsRNR():
		q.list, q.passed = nil, 0 // the RNR NAK is of the PSN that the RACKs expect, so it goes first
	case isRACK(p):
		_, ok := q.named(p)
		switch {
		case ok && q.passed > portPackets+q.before:
			q.c.Failf(rule.Responder, "%d responses leave before the RACK of %s", q.passed, q.c.Rel(p.SACK.PSN))
		case ok && q.reading:
			q.c.Met()
		}
		q.passed, q.before = 0, q.waiting
	default:
		q.reading = p.Opcode.IsReadResponse() && !p.Opcode.EndsMessage()
		q.passed++
		if rule.IsACK(p) {
			q.waiting = max(0, q.waiting-1)
		}
	}
}

func (q *priority) arrives(s *rule.Sight) {
	switch {
	case q.early(s):
		if len(q.list) == 1 {
			q.passed, q.before = 0, q.waiting
		}
	case !s.Pkt.Opcode.IsRead():
		q.waiting++
	}
}
