package gbn

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

func nakNamesMissing() rule.Rule {
	return rule.Rule{
		ID: "GBN-NAK-001", Level: rule.Must,
		Title: "The first packet beyond a gap draws a sequence NAK whose PSN is the expected one",
		Source: rule.Source{Ref: "IBTA 9.7.5.2, GB1 IV-A", Requirement: "A responder that receives a request whose PSN is after the " +
			"expected one answers with a NAK for PSN sequence error that carries the expected PSN."},
		Needs: rule.TapResponder, Sees: rule.RequestIn | rule.ResponseOut, Wakes: rule.Early | rule.Faulty | rule.Asking, Features: []string{scheme},
		Stimulus: "a lost request followed by others", BlackBox: hardware,
		New: func(c *rule.Context) rule.Check { return (&gaps{c: c}).check() },
	}
}

func nakPerGap() rule.Rule {
	return rule.Rule{
		ID: "GBN-NAK-003", Level: rule.Must,
		Title: "Once the expected packet has arrived, the next gap draws a NAK of its own",
		Source: rule.Source{Ref: "IBTA 9.7.5.2", Requirement: "The responder that has sent a sequence NAK may send another only after " +
			"it has received the packet with the expected PSN; from then on a new error is a new NAK."},
		Needs: rule.TapResponder, Sees: rule.RequestIn | rule.ResponseOut, Wakes: rule.Early | rule.Faulty | rule.Asking, Features: []string{scheme},
		Stimulus: "two lost requests, the second after the first has been recovered", BlackBox: hardware,
		New: func(c *rule.Context) rule.Check { return (&gaps{c: c, later: true}).check() },
	}
}

// gaps follows the gaps at the responder and the NAK that each has to draw. A gap that closes within rule.Patience may close
// without one: the missing packet was late and not lost.
type gaps struct {
	c       *rule.Context
	later   bool // judge only gaps after one that has drawn its NAK
	drawn   bool // an earlier gap has
	waiting bool // the open gap still has to draw its NAK
	bad     bool // an illegal request stands at the expected PSN: its own NAK is what follows
	psn     psn.PSN
	at      vtime.Time
	awaited rule.Awaited
	record  uint64
	past    [8]psn.PSN // expected PSNs of the latest gaps: their NAKs may leave after they have closed
	n       int
}

func (g *gaps) check() rule.Check { return rule.Check{Sight: g.sight, End: g.close} }

func (g *gaps) sight(s *rule.Sight) {
	c := g.c
	switch {
	case c.Fatal || s.Point == trace.ResponderOut && endsRecovery(s.Pkt):
		g.waiting = false
	case s.Point == trace.ResponderOut:
		g.awaited.Behind(s)
		if isNAK(s.Pkt) {
			g.named(s.Pkt.PSN)
		}
	case s.Relation == rule.InOrder:
		g.bad = !s.Legal
		g.close(s.At)
	case s.Relation == rule.Ahead && !c.GapOpen && !c.RNRWait && !g.bad:
		g.waiting, g.psn, g.at, g.awaited, g.record = true, c.EPSN, s.At, c.Await(s.At), s.Index
		g.past[g.n%len(g.past)] = c.EPSN
		g.n++
	}
}

// named takes the PSN of a NAK.
func (g *gaps) named(p psn.PSN) {
	if g.waiting && p == g.psn {
		if !g.later || g.drawn {
			g.c.Met()
		}
		g.waiting, g.drawn = false, true
		return
	}
	for _, was := range g.past[:min(g.n, len(g.past))] {
		if p == was {
			return // a repetition, which GBN-NAK-002 judges, or late
		}
	}
	switch {
	case g.later:
	case g.c.RNRWait:
		g.c.Failf(rule.Responder, "NAK of %s after an RNR NAK of %s; silence expected until that request comes again", g.c.Rel(p), g.c.Rel(g.c.EPSN))
	default:
		g.c.Failf(rule.Responder, "NAK names %s, which nothing showed to be missing; expected is %s", g.c.Rel(p), g.c.Rel(g.c.EPSN))
	}
}

// close ends the open gap, if any. A box has more reasons to be silent: a NAK acknowledges what is before it (PACK-GAP-001).
func (g *gaps) close(at vtime.Time) {
	if g.waiting && !g.c.AtBox && g.awaited.Overdue(at) && (!g.later || g.drawn) {
		g.c.FailAt(g.at, g.record, rule.Responder, "no NAK although "+g.c.Rel(g.psn)+" is missing")
	}
	g.waiting = false
}

func nakOnce() rule.Rule {
	return rule.Rule{
		ID: "GBN-NAK-002", Level: rule.MustNot, Rests: validity.Sequence,
		Title: "No second sequence NAK leaves before the expected packet has arrived",
		Source: rule.Source{Ref: "IBTA 9.7.5.2", Requirement: "After a NAK for PSN sequence error the responder sends no other until it has " +
			"received the request with the expected PSN."},
		Needs: rule.TapResponder, Sees: rule.RequestIn | rule.ResponseOut, Wakes: rule.Asking, Features: []string{scheme},
		Stimulus: "a lost request followed by many", BlackBox: hardware,
		New: func(c *rule.Context) rule.Check {
			var named psn.PSN
			sent := false // a NAK of named left, and named has not arrived since
			return rule.Check{Sight: func(s *rule.Sight) {
				switch {
				case interval(c) != 0:
				case s.Point == trace.ResponderOut && isNAK(s.Pkt):
					if sent && s.Pkt.PSN == named {
						c.Failf(rule.Responder, "second NAK of %s, which has not arrived yet; silence expected until it has", c.Rel(named))
					}
					sent, named = true, s.Pkt.PSN
				case s.Relation == rule.InOrder:
					sent = false
				case s.Relation == rule.Ahead && sent:
					c.Met()
				}
			}}
		},
	}
}
