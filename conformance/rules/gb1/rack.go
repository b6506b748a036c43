package gb1

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// arrivals are the early packets whose RACKs have not left, oldest first.
type arrivals struct {
	c    *rule.Context
	list []arrival
}

// arrival is one early packet.
type arrival struct {
	psn, expected psn.PSN
	at            vtime.Time
	record        uint64
}

// arrivalLimit bounds them; the oldest is forgotten.
const arrivalLimit = 1 << 12

// early takes a request that arrives, and reports whether it has to draw a RACK: it is ahead, and not too far.
func (a *arrivals) early(s *rule.Sight) bool {
	if s.Relation != rule.Ahead || a.c.Fatal || s.Pkt.PSN.Sub(a.c.EPSN) >= reach(a.c) {
		return false
	}
	if len(a.list) == arrivalLimit {
		a.list = a.list[:copy(a.list, a.list[1:])]
	}
	a.list = append(a.list, arrival{s.Pkt.PSN, a.c.EPSN, s.At, s.Index})
	return true
}

// named takes off the arrival that a RACK reports; ok is false when none waits for it.
func (a *arrivals) named(p *roce.Packet) (x arrival, ok bool) {
	for i := range a.list {
		if a.list[i].psn == p.SACK.PSN {
			x = a.list[i]
			a.list = append(a.list[:i], a.list[i+1:]...)
			return x, true
		}
	}
	return arrival{}, false
}

func rackNamesBoth() rule.Rule {
	return rule.Rule{
		ID: "GB1-RACK-001", Level: rule.Must,
		Title: "Data ahead of the expected PSN draws a RACK that carries the expected PSN and the received one",
		Source: rule.Source{Ref: "GB1 IV-B, Fig. 7", Quote: "By assembling a user-defined packet header that carries the sequence number of " +
			"the currently received packet and the sequence number of the expected packet, the sender can be informed which packets are not received successfully."},
		Needs: rule.TapResponder, Sees: rule.RequestIn | rule.ResponseOut, Features: features,
		Stimulus: "a lost request followed by others", BlackBox: engines,
		New: func(c *rule.Context) rule.Check {
			b := bothNumbers{c: c, arrivals: arrivals{c: c}}
			return rule.Check{Sight: b.sight, End: b.close}
		},
	}
}

// bothNumbers compares RACKs with the early arrivals that they report. A gap that draws none at all is judged when it
// closes, or at the end.
type bothNumbers struct {
	c        *rule.Context
	arrivals arrivals
	recent   [64]arrival // reported already: RACKs that repeat them are GB1-RACK-002's
	n        int
	waiting  bool // the open gap has drawn no RACK
	first    arrival
}

func (b *bothNumbers) sight(s *rule.Sight) {
	c, p := b.c, s.Pkt
	switch {
	case s.Point == trace.ResponderIn:
		if s.Relation == rule.InOrder {
			b.close(s.At)
		}
		open := c.GapOpen
		if b.arrivals.early(s) && !open && !b.waiting {
			b.waiting, b.first = true, arrival{p.PSN, c.EPSN, s.At, s.Index}
		}
	case isRACK(p):
		b.rack(p)
	}
}

func (b *bothNumbers) rack(p *roce.Packet) {
	c := b.c
	b.waiting = false
	x, ok := b.arrivals.named(p)
	switch {
	case !ok && !b.reported(p.SACK.PSN):
		c.Failf(rule.Responder, "RACK names %s, which did not come early", c.Rel(p.SACK.PSN))
		return
	case !ok:
		return
	case p.PSN.Less(x.expected) || c.EPSN.Less(p.PSN):
		c.Failf(rule.Responder, "RACK of %s says that %s is expected, it was %s", c.Rel(x.psn), c.Rel(p.PSN), c.Rel(x.expected))
	default:
		c.Met()
	}
	b.recent[b.n%len(b.recent)] = x
	b.n++
}

func (b *bothNumbers) reported(p psn.PSN) bool {
	for _, x := range b.recent[:min(b.n, len(b.recent))] {
		if x.psn == p {
			return true
		}
	}
	return false
}

// close judges a gap that has drawn no RACK.
func (b *bothNumbers) close(at vtime.Time) {
	if b.waiting && !b.c.Fatal && at.Sub(b.first.at) >= patience {
		b.c.FailAt(b.first.at, b.first.record, rule.Responder, "no RACK of "+b.c.Rel(b.first.psn))
	}
	b.waiting = false
}

func rackEach() rule.Rule {
	return rule.Rule{
		ID: "GB1-RACK-002", Level: rule.Must,
		Title: "Each early arrival draws one RACK, and none is suppressed",
		Source: rule.Source{Ref: "GB1 IV-C2, Algorithm 1", Quote: "If the signal value returned is the signal value of out-of-order and packet " +
			"loss, a custom response packet RACK is constructed."},
		Needs: rule.TapResponder, Sees: rule.RequestIn | rule.ResponseOut, Features: features,
		Stimulus: "a lost request followed by several", BlackBox: engines,
		New: func(c *rule.Context) rule.Check {
			e := each{c: c, arrivals: arrivals{c: c}}
			return rule.Check{Sight: e.sight, End: e.overdue}
		},
	}
}

// each counts RACKs against early arrivals.
type each struct {
	c        *rule.Context
	arrivals arrivals
	second   bool // a gap has shown more than one early packet
}

func (e *each) sight(s *rule.Sight) {
	c, p := e.c, s.Pkt
	e.overdue(s.At)
	switch {
	case s.Point == trace.ResponderIn:
		again := c.GapOpen
		e.second = e.arrivals.early(s) && again || e.second
	case c.Fatal:
		e.arrivals.list = nil
	case isRACK(p):
		if _, ok := e.arrivals.named(p); !ok {
			c.Failf(rule.Responder, "a RACK of %s too many", c.Rel(p.SACK.PSN))
		} else if e.second {
			c.Met()
		}
	}
}

// overdue judges the oldest arrivals whose RACKs should have left.
func (e *each) overdue(now vtime.Time) {
	for len(e.arrivals.list) > 0 && now.Sub(e.arrivals.list[0].at) >= patience {
		x := e.arrivals.list[0]
		e.arrivals.list = e.arrivals.list[1:]
		if !e.c.Fatal {
			e.c.FailAt(x.at, x.record, rule.Responder, "no RACK of "+e.c.Rel(x.psn))
		}
	}
}

func rackOpcode() rule.Rule {
	return rule.Rule{
		ID: "GB1-RACK-003", Level: rule.Must,
		Title: "A RACK is told from an ACK by its opcode; no sequence NAK stands in for it",
		Source: rule.Source{Ref: "GB1 IV-C2", Quote: "The value of the protocol field is set to 0xFD, so that the sender can distinguish " +
			"ACK and RACK."},
		Needs: rule.TapResponder, Sees: rule.ResponseOut, Features: features,
		Stimulus: "a lost request followed by others", BlackBox: engines,
		New: func(c *rule.Context) rule.Check {
			return rule.Check{Sight: func(s *rule.Sight) {
				p := s.Pkt
				switch a := p.AETH.Syndrome; {
				case p.Opcode == roce.Acknowledge && a == roce.SyndromePSNSeqErr:
					c.Failf(rule.Responder, "a sequence NAK of %s in place of a RACK", c.Rel(p.PSN))
				case isRACK(p) && a != roce.SyndromePSNSeqErr:
					c.Failf(rule.Responder, "RACK of %s with syndrome %#02x, which is not that of a missing packet", c.Rel(p.SACK.PSN), uint8(a))
				case isRACK(p):
					c.Met()
				}
			}}
		},
	}
}

// portPackets is how many packets an endpoint may have handed to its port already when a RACK is made.
const portPackets = 16

func rackFirst() rule.Rule {
	return rule.Rule{
		ID: "GB1-RACK-004", Level: rule.Must,
		Title: "A RACK leaves ahead of READ data and ACKs that wait",
		Source: rule.Source{Ref: "GB1 IV-C2", Quote: "Finally, it is added to the high-priority send queue, triggering the network interface " +
			"to transmit."},
		Needs: rule.TapResponder, Sees: rule.RequestIn | rule.ResponseOut, Features: features,
		Stimulus: "a lost request while READ data are being sent", BlackBox: engines,
		New: func(c *rule.Context) rule.Check {
			a := arrivals{c: c}
			passed, reading := 0, false // responses that left before the oldest RACK that waits; READ data are being sent
			return rule.Check{Sight: func(s *rule.Sight) {
				p := s.Pkt
				switch {
				case s.Point == trace.ResponderIn:
					if a.early(s) && len(a.list) == 1 {
						passed = 0
					}
				case isRACK(p):
					if _, ok := a.named(p); ok && passed <= portPackets && reading {
						c.Met()
					}
					passed = 0
				default:
					reading = p.Opcode.IsReadResponse() && !p.Opcode.EndsMessage()
					if len(a.list) == 0 {
						return
					}
					if passed++; passed == portPackets+1 {
						c.Failf(rule.Responder, "%d responses leave before the RACK of %s", passed, c.Rel(a.list[0].psn))
					}
				}
			}}
		},
	}
}
