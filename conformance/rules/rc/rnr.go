package rc

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

var rnrSent = rule.Rule{
	ID: "RC-RNR-001", Level: rule.Must,
	Title: "A SEND or WRITE with immediate that finds no receive draws an RNR NAK with its PSN and the QP's " +
		"timer code, and is not executed",
	Source: rule.Source{Ref: "IBTA 9.7.5.2.8", Requirement: "The responder returns an RNR NAK with the PSN of " +
		"the request for which it has no receive WQE, and does not execute the request."},
	Needs: rule.TapResponder, Sees: rule.Accepts | rule.ResponseOut, Minds: rule.Edge | rule.Answer,
	Wakes: rule.Asking, Stimulus: "a SEND without a posted receive", BlackBox: hardware,
	New: func(c *rule.Context) rule.Check {
		if !c.Offers(rule.Attributes | rule.Posted) {
			return rule.Check{Sight: func(s *rule.Sight) { rnrNamed(c, s) }}
		}
		r := receiver{c: c, nak: c.Owes(rule.Responder, "no RNR NAK for a request that finds no receive")}
		return rule.Check{Sight: r.sight, Event: r.event}
	},
}

// rnrNamed judges an RNR NAK by the request that it names, where posted receives are not reported.
func rnrNamed(c *rule.Context, s *rule.Sight) {
	p := s.Pkt
	switch {
	case s.Point != trace.ResponderOut || !rule.IsRNR(p):
	case rule.MayWait(c, p.PSN) && c.Offers(rule.Attributes) &&
		roce.RNRTimer(p.AETH.Syndrome.Timer()).Duration() < c.PeerAttr.MinRNRTimer.Duration():
		c.Failf(rule.Responder, "RNR NAK has timer code %d, the least of the QP is %d", p.AETH.Syndrome.Timer(),
			c.PeerAttr.MinRNRTimer)
	case rule.MayWait(c, p.PSN):
		c.Met()
	case c.Started && p.PSN.In(c.Start, c.EPSN):
		c.Failf(rule.Responder, "RNR NAK names %s, which has nothing to wait for, or has been acknowledged; the "+
			"request that was refused expected", c.Rel(p.PSN))
	case c.Started && p.PSN == c.EPSN && rule.NoneDue(c):
		c.Failf(rule.Responder, "RNR NAK names %s, which has not arrived; the request that was refused expected",
			c.Rel(p.PSN))
	}
}

// receiver counts posted receives and finds the requests that must be refused for want of one.
type receiver struct {
	c      *rule.Context
	nak    *rule.Obligation // of a request that found no receive
	posted int              // receives that are left
	takers []psn.PSN        // requests that need a receive and that no response covers yet, oldest first
	copies []psn.PSN        // of takers, that have arrived after them; each may be refused as well
}

func (r *receiver) event(e *trace.Event) {
	if e.Kind != trace.Receive || r.c.Mine(e) {
		return
	}
	if d := r.nak.Oldest(); d != nil && e.At == d.At {
		r.nak.Excuse(nil) // posted at the same instant, perhaps before
		return
	}
	r.posted++
}

func (r *receiver) sight(s *rule.Sight) {
	p := s.Pkt
	if s.Point == trace.ResponderOut {
		r.response(p)
		return
	}
	if s.Relation == rule.Duplicate && len(r.copies) < queueLimit && slices.Contains(r.takers, p.PSN) {
		r.copies = append(r.copies, p.PSN)
	}
	if !s.Legal || r.c.Fatal || !p.Opcode.TakesReceive() {
		return
	}
	if len(r.takers) < queueLimit {
		r.takers = append(r.takers, p.PSN)
	}
	switch {
	case r.posted > 0:
		r.posted--
	case !r.nak.Owed():
		r.nak.Arise(s, p.PSN)
	}
}

func (r *receiver) response(p *roce.Packet) {
	c := r.c
	if rule.IsRNR(p) {
		r.refused(p)
		return
	}
	last, ok := rule.Acknowledged(p)
	for ok && len(r.takers) > 0 && r.takers[0].LessEq(last) {
		r.takers = r.takers[1:]
		r.copies = slices.DeleteFunc(r.copies, func(x psn.PSN) bool { return x.LessEq(last) })
	}
	if d := r.nak.Oldest(); d != nil && ok && d.PSN.LessEq(last) && !rule.IsFatalNAK(p) {
		named := c.Rel(d.PSN)
		r.nak.Excuse(nil)
		if r.posted > 0 {
			// A receive was posted since, and the retransmitted request took it: the NAK had waited behind other
			// responses.
			r.posted--
			return
		}
		c.Failf(rule.Responder, "%s is acknowledged, but no receive was posted for it; an RNR NAK expected", named)
	}
}

func (r *receiver) refused(p *roce.Packet) {
	c, i := r.c, slices.Index(r.takers, p.PSN)
	copied := slices.Index(r.copies, p.PSN)
	switch {
	case i < 0 && copied >= 0 && p.PSN == c.EPSN:
		r.copies = slices.Delete(r.copies, copied, copied+1)
	case i < 0:
		c.Failf(rule.Responder, "RNR NAK names %s, which takes no receive", c.Rel(p.PSN))
	case roce.RNRTimer(p.AETH.Syndrome.Timer()) != c.PeerAttr.MinRNRTimer:
		c.Failf(rule.Responder, "RNR NAK has timer code %d, the QP's is %d", p.AETH.Syndrome.Timer(), c.PeerAttr.MinRNRTimer)
	default:
		c.Met()
	}
	r.takers = r.takers[:max(i, 0)] // the refused requests are sent again
	if r.nak.About(p.PSN) {
		r.nak.Excuse(nil)
	} else if p.PSN.Less(c.EPSN) {
		r.posted++ // the refused request had been counted as taking one
	}
}

// taken is the latest request of a slot.
type taken struct {
	set bool // it is a WRITE without immediate
	psn psn.PSN
}

var rnrNotForWrite = rule.Rule{
	ID: "RC-RNR-004", Level: rule.MustNot,
	Title: "A WRITE without immediate never draws an RNR NAK",
	Source: rule.Source{Ref: "IBTA 9.7.5.2.8, 9.4.3",
		Requirement: "An RDMA WRITE without immediate data consumes no receive WQE at the responder."},
	Needs: rule.Frames, Sees: rule.Accepts | rule.ResponseOut, Wakes: rule.Asking,
	Stimulus: "a WRITE while no receive is posted", BlackBox: hardware,
	New: func(c *rule.Context) rule.Check {
		if !c.Offers(rule.TapResponder | rule.Posted) {
			return rule.Check{Sight: func(s *rule.Sight) { rnrAnswered(c, s) }}
		}
		posted := 0
		var recent [256]taken // latest WRITEs, by PSN
		return rule.Check{
			Sight: func(s *rule.Sight) {
				p := s.Pkt
				slot := &recent[p.PSN%256]
				switch {
				case s.Point == trace.ResponderOut:
					if rule.IsRNR(p) && slot.set && slot.psn == p.PSN {
						c.Failf(rule.Responder, "RNR NAK for WRITE %s, which takes no receive", c.Rel(p.PSN))
					}
				case s.Due():
					*slot = taken{p.Opcode.IsWrite() && !p.Opcode.HasImm(), p.PSN}
					if s.Legal && p.Opcode.TakesReceive() {
						posted = max(0, posted-1)
					} else if slot.set && posted == 0 {
						c.Met()
					}
				}
			},
			Event: func(e *trace.Event) {
				if e.Kind == trace.Receive && !c.Mine(e) {
					posted++
				}
			},
		}
	},
}

// rnrAnswered judges an RNR NAK by the request that it answers, as a tap at the requester or between the ports shows
// it.
func rnrAnswered(c *rule.Context, s *rule.Sight) {
	p, made := s.Pkt, c.Maker(s)
	if !rule.IsRNR(p) || made != rule.AtPort && made != rule.Sealed {
		return
	}
	if t := c.Sent(p.PSN); t != nil && t.Opcode.IsWrite() && !t.Opcode.HasImm() {
		c.Failf(rule.Responder, "RNR NAK for %v %s, which takes no receive", t.Opcode, c.Rel(p.PSN))
	}
}
