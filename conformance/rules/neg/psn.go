package neg

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

var farFuture = rule.Rule{
	ID: "NEG-PSN-001", Level: rule.Must,
	Title: "A PSN far in the future is a sequence error: one NAK, and the packet is not received",
	Source: rule.Source{Ref: "IBTA 9.7.4.1.4", Requirement: "A request whose PSN lies after the expected one is out of " +
		"sequence: it is not executed, and one NAK carries the expected PSN"},
	Needs: rule.TapResponder, Sees: rule.RequestIn | rule.ResponseOut, Wakes: rule.Early, Dozes: true,
	Stimulus: "a request far in the future", BlackBox: "HW,RXE",
	New: func(c *rule.Context) rule.Check { return rule.Check{Sight: (&future{c: c}).sight} },
}

// distant is how far ahead a packet must be so that no window of outstanding requests explains it, in PSNs.
const distant = 1 << 22

// future tracks one far packet until the request in order arrives. A responder that keeps out-of-order packets may drop
// one without a NAK, so its silence is right.
type future struct {
	c        *rule.Context
	open     bool    // a far packet is tracked
	psn      psn.PSN // of the far packet
	expected psn.PSN // expected PSN when it arrived
	allowed  int     // retransmission requests that out-of-order packets allow
}

func (j *future) sight(s *rule.Sight) {
	switch {
	case s.Point == trace.ResponderOut:
		j.response(s.Pkt)
	case j.c.Fatal || s.Relation == rule.Unrelated:
	case s.Relation == rule.InOrder:
		if j.open && j.c.Keeps() {
			j.c.Met() // it was dropped or kept without harm
		}
		j.open = false
	case s.Relation == rule.Ahead && s.Pkt.PSN.Sub(j.c.EPSN) >= distant && !j.open && !j.c.GapOpen:
		j.open, j.psn, j.expected, j.allowed = true, s.Pkt.PSN, j.c.EPSN, 1
	case s.Relation == rule.Ahead:
		j.allowed++
	}
}

func (j *future) response(p *roce.Packet) {
	last, ok := rule.Acknowledged(p)
	if !j.open || !ok {
		return
	}
	switch {
	case rule.IsFatalNAK(p) && (p.PSN == j.psn || p.PSN == j.expected): // the expected one has not arrived
		j.fail("draws a fatal NAK")
	case j.expected.LessEq(last):
		j.fail("makes the responder acknowledge " + j.c.Rel(last))
	case rule.AsksAgain(p):
		j.allowed--
		repeated := p.Opcode == roce.Acknowledge && j.c.NAKsInGap > 0 // one NAK per gap, however many packets show it
		if repeated || j.allowed < 0 {
			j.fail("draws a second NAK")
			return
		}
		j.c.Met()
	}
}

func (j *future) fail(text string) {
	j.open = false
	j.c.Failf(rule.Responder, "a packet %d PSNs ahead %s", j.psn.Sub(j.expected), text)
}

var past = rule.Rule{
	ID: "NEG-PSN-002", Level: rule.Must,
	Title: "A PSN up to 2^23 before the expected one is a duplicate, and is not executed",
	Source: rule.Source{Ref: "IBTA 9.7.4.1.4, 9.7.5.1.4", Requirement: "A duplicate request is not executed again; a " +
		"SEND or WRITE is answered by the acknowledgement of the newest request"},
	Needs: rule.TapResponder, Sees: rule.RequestIn | rule.ResponseOut, Wakes: rule.Late, Dozes: true,
	Stimulus: "a request from the past", BlackBox: "HW,RXE",
	New: func(c *rule.Context) rule.Check {
		return (&silence{c: c, what: "duplicate", answered: true, bad: func(c *rule.Context, s *rule.Sight) bool {
			return s.Relation == rule.Duplicate
		}}).check()
	},
}
