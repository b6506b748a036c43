package gbn

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

var nakNamesMissing = rule.Rule{
	ID: "GBN-NAK-001", Level: rule.Must,
	Title: "The first packet beyond a gap draws a sequence NAK whose PSN is the expected one",
	Source: rule.Source{Ref: "IBTA 9.7.5.2, GB1 IV-A", Requirement: "A responder that receives a request whose PSN is " +
		"after the expected one answers with a NAK for PSN sequence error that carries the expected PSN."},
	Needs: rule.TapResponder, Sees: rule.RequestIn | rule.ResponseOut,
	Wakes: rule.Early | rule.Faulty | rule.Asking, Dozes: true, Features: []string{scheme},
	Stimulus: "a lost request followed by others", BlackBox: hardware,
	New: func(c *rule.Context) rule.Check { return newGaps(c, false) },
}

var nakPerGap = rule.Rule{
	ID: "GBN-NAK-003", Level: rule.Must,
	Title: "Once the expected packet has arrived, the next gap draws a NAK of its own",
	Source: rule.Source{Ref: "IBTA 9.7.5.2", Requirement: "The responder that has sent a sequence NAK may send another " +
		"only after it has received the packet with the expected PSN; from then on a new error is a new NAK."},
	Needs: rule.TapResponder, Sees: rule.RequestIn | rule.ResponseOut,
	Wakes: rule.Early | rule.Faulty | rule.Asking, Dozes: true, Features: []string{scheme},
	Stimulus: "two lost requests, the second after the first has been recovered", BlackBox: hardware,
	New: func(c *rule.Context) rule.Check { return newGaps(c, true) },
}

// gaps tracks the gaps at the responder. Each gap owes a NAK, unless the missing packet was late and not lost, so that
// the gap closes before the NAK is overdue. A box owes none, because a NAK acknowledges the PSNs before it
// (PACK-GAP-001).
type gaps struct {
	c     *rule.Context
	nak   *rule.Obligation     // of the open gap
	later bool                 // only gaps after one that drew its NAK are judged
	drawn bool                 // an earlier gap drew its NAK
	bad   bool                 // an illegal request has the expected PSN, and draws another NAK
	past  rule.Latest[psn.PSN] // missing PSNs of the latest gaps
}

// pastGaps is the number of gaps whose NAKs may leave after they have closed.
const pastGaps = 8

func newGaps(c *rule.Context, later bool) rule.Check {
	g := gaps{c: c, later: later, nak: c.Owes(rule.Responder, "no NAK although %s is missing")}
	g.nak.Unless = func(rule.Debt) bool { return c.AtBox }
	return rule.Check{Sight: g.sight}
}

func (g *gaps) sight(s *rule.Sight) {
	c := g.c
	switch {
	case c.Fatal || s.Point == trace.ResponderOut && endsRecovery(s.Pkt):
		g.nak.Excuse(nil)
	case s.Point == trace.ResponderOut:
		if rule.IsNAK(s.Pkt) {
			g.named(s.Pkt.PSN)
		}
	case s.Relation == rule.InOrder:
		g.bad = !s.Legal
		g.nak.Close(s.At)
	case s.Relation == rule.Ahead && !c.GapOpen && !c.RNRWait && !g.bad:
		if !g.later || g.drawn {
			g.nak.Arise(s, c.EPSN)
		}
		g.past.Add(c.EPSN, pastGaps)
	}
}

// named judges the PSN of a NAK. GBN-NAK-002 judges repetitions, and the NAK of a gap may leave after the gap has
// closed.
func (g *gaps) named(p psn.PSN) {
	g.nak.Discharge(func(d rule.Debt) bool { return d.PSN == p })
	switch shown := slices.Contains(g.past.List(), p); {
	case shown:
		g.drawn = true
	case g.later:
	// the missing packet was sent before the capture began, or lost before the tap
	case !g.c.Known && p.Less(g.c.Start):
	case g.c.RNRWait:
		g.c.Failf(rule.Responder, "NAK of %s after an RNR NAK of %s; silence expected until its retransmission",
			g.c.Rel(p), g.c.Rel(g.c.EPSN))
	case p == g.c.EPSN:
		g.c.Failf(rule.Responder, "NAK of %s, which is expected next: nothing behind it has arrived", g.c.Rel(p))
	default:
		g.c.Failf(rule.Responder, "NAK names %s, which is not missing; %s expected", g.c.Rel(p), g.c.Rel(g.c.EPSN))
	}
}

var nakOnce = rule.Rule{
	ID: "GBN-NAK-002", Level: rule.MustNot, Rests: validity.Sequence,
	Title: "No second sequence NAK leaves before the expected packet has arrived",
	Source: rule.Source{Ref: "IBTA 9.7.5.2", Requirement: "After a NAK for PSN sequence error the responder " +
		"sends no other until it has received the request with the expected PSN."},
	Needs: rule.TapResponder, Sees: rule.RequestIn | rule.ResponseOut, Wakes: rule.Asking, Dozes: true,
	Features: []string{scheme},
	Stimulus: "a lost request followed by many", BlackBox: hardware,
	New: func(c *rule.Context) rule.Check {
		var named psn.PSN
		sent := false // a NAK of named was sent, and named has not arrived since
		return rule.Check{Sight: func(s *rule.Sight) {
			switch {
			case interval(c) != 0:
			case s.Point == trace.ResponderOut && rule.IsNAK(s.Pkt):
				if sent && s.Pkt.PSN == named {
					c.Failf(rule.Responder, "second NAK of %s, which has not arrived yet; silence expected until it has", c.Rel(named))
				}
				sent, named = true, s.Pkt.PSN
			case s.Point == trace.ResponderOut && rule.IsRNR(s.Pkt) && s.Pkt.PSN == named:
				sent = false // named has arrived and was refused, perhaps long after the tap saw it
			case s.Relation == rule.InOrder:
				sent = false
			case s.Relation == rule.Ahead && sent:
				c.Met()
			}
		}}
	},
}
