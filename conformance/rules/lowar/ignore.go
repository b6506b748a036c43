package lowar

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/shim"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// useless tracks repair packets that a decoder must not act on. A decoder that does so makes up a packet: it then
// acknowledges a missing packet that did not arrive, or passes up a second copy of one that did, which draws an ACK
// without cause.
type useless struct {
	c     *rule.Context
	which func(s *rule.Sight) bool // repair packets that the rule judges; called before the decoder sees them

	open    bool        // such a packet arrived, and missing has not
	missing psn.PSN     // the expected PSN when the repair packet arrived
	at      vtime.Time  // arrival of the repair packet
	quiet   bool        // no request arrived since, nor at the same instant
	asked   vtime.Time  // arrival of the latest request; Never before
	earned  rule.Earned // ACKs that the requests explain
}

func ignores(which func(c *rule.Context) func(*rule.Sight) bool) func(*rule.Context) rule.Check {
	return func(c *rule.Context) rule.Check {
		u := &useless{c: c, which: which(c), asked: vtime.Never}
		return rule.Check{Sight: u.sight, Event: u.event}
	}
}

func (u *useless) sight(s *rule.Sight) {
	c := u.c
	switch {
	case c.Fatal:
	case isRepair(s.Pkt) && s.Point == trace.ResponderIn:
		if u.which(s) {
			c.Met()
			u.open, u.quiet, u.missing, u.at = true, !s.Together(u.asked), c.EPSN, s.At
		}
	case s.Pkt.Opcode == roce.LoWAR:
	case s.Point == trace.ResponderIn:
		u.quiet, u.asked = false, s.At
		if s.Relation == rule.Duplicate {
			u.earned.Repeats++
		}
		u.open = u.open && s.Pkt.PSN != u.missing
	case s.Point == trace.ResponderOut:
		u.response(s)
	}
}

func (u *useless) response(s *rule.Sight) {
	c := u.c
	last, ok := rule.Acknowledged(s.Pkt)
	if !ok {
		return
	}
	if u.open && u.missing.LessEq(last) && u.missing == c.EPSN {
		c.Failf(rule.Responder, "acknowledges up to %s; less than %s expected, of which only a useless "+
			"repair packet arrived", c.Rel(last), c.Request(u.missing))
		u.open = false
	}
	if !rule.IsACK(s.Pkt) {
		return
	}
	if e := &u.earned; e.Heard && last == e.Acked {
		if e.Repeats == 0 && u.quiet {
			c.Failf(rule.Responder, "repeats the ACK of %s after a useless repair packet; silence expected", c.Rel(last))
		}
		e.Repeats = max(e.Repeats-1, 0)
	}
	u.earned.Acked, u.earned.Heard = last, true
}

// event judges placements: when only such a packet arrives, nothing may be placed at that instant.
func (u *useless) event(e *trace.Event) {
	if e.Kind == trace.Store && !u.c.Mine(e) && u.quiet && u.open && e.At == u.at {
		u.c.Failf(rule.Responder, "%d bytes are placed after a useless repair packet; none expected", e.Len)
		u.quiet = false
	}
}

var mismatchIgnored = define(rule.Rule{
	ID:    "LOWAR-DEC-010",
	Title: "A repair packet with another (r, c) than the decoder's is ignored: nothing is recovered from it",
	Source: rule.Source{Ref: "LOWAR IV-C", Requirement: "Only if the (r, c) parameters used for decoding " +
		"calculation align with that included in repair packets will the recovered data packets be accepted."},
	Needs: decodes | rule.Stores, Sees: decoded, Stimulus: "(32, 1) at the sender and (8, 1) at the receiver, and a loss",
	New: ignores(func(c *rule.Context) func(*rule.Sight) bool {
		return func(s *rule.Sight) bool {
			r, depth := c.Decoders[0].Scheme()
			h := &s.Pkt.Repair
			return (int(h.R) != r || int(h.C) != depth) && c.EPSN.In(h.Base, h.Base.Add(max(1, int(h.N))))
		}
	}),
})

var unsoundDiscarded = define(rule.Rule{
	ID:    "LOWAR-DEC-011",
	Title: "A recovered packet that cannot be the lost one, by its QPN, PSN, opcode or length, is discarded",
	Source: rule.Source{Ref: "LOWAR IV-C",
		Requirement: "These edge case parameters ensure precise trimming of recovered packets."},
	Needs: decodes | rule.Stores, Sees: decoded, Stimulus: "a repair packet whose XOR is wrong, with a valid ICRC",
	New: ignores(func(c *rule.Context) func(*rule.Sight) bool {
		return func(s *rule.Sight) bool { return c.Decoders[0].Yields(&s.Sight) == shim.YieldsUnsound }
	}),
})

var repeatIgnored = define(rule.Rule{
	ID:    "LOWAR-DEC-012",
	Title: "A repair packet that arrives twice, or late, is ignored",
	Source: rule.Source{Ref: "LOWAR IV-B2", Requirement: "When a repair packet is received, and only one data " +
		"packets that encode the repair packet is lost."},
	Needs: decodes | rule.Stores, Sees: decoded, Stimulus: "a repair packet doubled, and one delayed",
	New: ignores(func(c *rule.Context) func(*rule.Sight) bool {
		var seen rule.Latest[roce.Repair]
		return func(s *rule.Sight) bool {
			h := s.Pkt.Repair
			if h.Type != roce.RepairData {
				return false // other packets of the shim have no block
			}
			nothing := c.Decoders[0].Yields(&s.Sight) == shim.YieldsNothing
			if slices.Contains(seen.List(), h) {
				return nothing
			}
			seen.Add(h, 64)
			// A repair packet is late when the transport has had a packet behind its block. Before the first packet
			// of all, none is late.
			return nothing && c.EPSN != c.Start && h.Base.Add(int(h.N)).Less(c.Decoders[0].Next)
		}
	}),
})

var holeExpires = define(rule.Rule{
	ID: "LOWAR-ROB-002",
	Title: "A hole that is older than T_rob is given up: the waiting packets are passed up, and the transport " +
		"asks for the missing one",
	Source: rule.Source{Ref: "LOWAR IV-B2", Requirement: "If a coding block fails to repair or triggers a " +
		"timeout in ROB, LoWAR will pass it to RDMA stacks to activate GBN retransmission."},
	Needs: decodes, Sees: decoded | rule.CodedIn,
	Stimulus: "a packet of the last block lost, and its repair packets",
	New: func(c *rule.Context) rule.Check {
		h := newHole(c, func(why shim.Failure, _ psn.PSN) bool { return why == shim.FailedTime })
		return rule.Check{Sight: func(s *rule.Sight) {
			// After a timeout the reference decoder has just passed the packets up, or is about to.
			d := c.Decoders[0]
			if s.Point == trace.ResponderOut && rule.IsNAK(s.Pkt) && d.Held > 0 && d.Tracking &&
				s.Pkt.PSN == d.Next && d.Waiting(s.At) < d.Wait()-tolerance(d) {
				c.Failf(rule.Responder, "asks for %s after others waited %s for it; a wait of %v expected, in "+
					"which a repair packet may arrive", c.Request(s.Pkt.PSN), micros(d.Waiting(s.At)), d.Wait())
			}
			h.sight(s)
		}}
	},
})

// tolerance returns how far the clock of an endpoint may be ahead of that of its tap.
func tolerance(d *shim.Decoder) vtime.Duration { return d.Wait() / 4 }
