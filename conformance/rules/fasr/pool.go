package fasr

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

// pool tells whether the SR pool of the requester's host may be exhausted, where the host does not report that.
type pool struct {
	c      *rule.Context
	flight int  // most requests that were in flight
	reads  bool // there were READs, whose data need blocks as well
}

// exhausted is the doubt about packets that are sent again, where the pool may be exhausted.
const exhausted = "the requester's SR pool may be exhausted, after which it goes back N"

// sends processes a request that is new.
func (p *pool) sends(s *rule.Sight) {
	p.flight = max(p.flight, 1+s.Pkt.PSN.Sub(p.c.UNA))
	p.reads = p.reads || s.Pkt.Opcode.IsRead()
}

// may reports whether the pool may be exhausted: others use it too, or it does not suffice for what was in flight. The
// first and the last block of a list may be used in part.
func (p *pool) may() bool {
	if p.c.Offers(rule.Probes) {
		return false
	}
	bits := max(1, parameter(p.c, "block_bits", 10))
	return !rule.Sole(p.c) || p.reads || parameter(p.c, "units", 20) == 0 ||
		parameter(p.c, "blocks", 70) < p.flight/bits+2
}

var unitsInUse = state("FASR-POOL-001",
	"A QP holds one SR state unit while any of its places is in recovery, and none otherwise", "FASR III-C1",
	"When QP exits the loss-recovery state, the corresponding position in the SR states bitmap is set to 0, and can "+
		"be used by other QPs.", "loss on several QPs", func(c *rule.Context, prev, cur *snapshot) {
		recovering := false
		for _, p := range cur.paths {
			recovering = recovering || p != normal
		}
		if prev.unit != 0 && cur.unit == 0 {
			c.Met()
		}
		if recovering != (cur.unit != 0) {
			fail(c, cur, rule.Responder, "the SR state pointer contradicts the paths of the QP")
		}
		if cur.unit != 0 && cur.pool["pool_units"] < 1 {
			fail(c, cur, rule.Responder, "the QP holds a unit that the pool does not count")
		}
	})

var poolSize = state("FASR-POOL-002",
	"The pool is 38 bytes per unit and, per block, its bits and a pointer: 20 and 70 of ten bits are 917.5 bytes",
	"FASR III-D", "20 SR state units with a size of 38B [...] and 70 bitmap blocks with a size of 10 bits [...]. The "+
		"total memory overhead is 0.92 KB.", "any run", func(c *rule.Context, _, cur *snapshot) {
		got, reported := cur.pool["pool_bits"]
		if !reported {
			return
		}
		c.Met()
		blocks, pointer := parameter(c, "blocks", 70), 8
		if blocks > 255 {
			pointer = 16
		}
		if want := parameter(c, "units", 20)*38*8 +
			blocks*(parameter(c, "block_bits", 10)+pointer); got != int64(want) {
			fail(c, cur, rule.Responder, "the pool's size does not match its units and blocks")
		}
		delete(cur.pool, "pool_bits") // once
	})

var recordedKept = state("FASR-POOL-004",
	"Packets recorded before the pool was exhausted are kept: recovery ends behind them",
	"FASR III-D", "After the QP returns to GBN, the recorded OoO will not be deleted.",
	"a pool without blocks and two losses in one recovery",
	func(c *rule.Context, prev, cur *snapshot) {
		if prev.fallback == 0 || prev.path == normal {
			return
		}
		c.Met()
		if cur.path == normal && cur.next.LessEq(prev.high) {
			fail(c, cur, rule.Responder, "recorded packets up to "+c.Rel(prev.high)+" are discarded, RCV-NXT is "+
				c.Rel(cur.next))
		}
	})

var poolSuffices = advice(state("FASR-POOL-005",
	"Twenty units and seventy blocks suffice for one QP with a window of 500 packets and two per cent of loss",
	"FASR III-D, V-D3", "FaSR supports OoO records with a packet loss rate of 0.02.",
	"one QP, two per cent of random loss",
	func(c *rule.Context, _, cur *snapshot) {
		if parameter(c, "units", 20) < 20 || parameter(c, "blocks", 70) < 70 || cur.pool["pool_units"] > 1 ||
			cur.path == normal {
			return
		}
		c.Met()
		if cur.pool["pool_exhausted"] > 0 {
			fail(c, cur, rule.Responder, "the pool is exhausted")
		}
	}))

// advice makes a rule advice about quantities.
func advice(r rule.Rule) rule.Rule {
	r.Level, r.Rests = rule.Should, validity.Everything
	return r
}

var exhaustedGoesBack = define(rule.Rule{
	ID: "FASR-POOL-003", Level: rule.Must,
	Title: "A responder whose pool is exhausted goes back N: one NAK, and no SACK until the recovery is over",
	Source: rule.Source{Ref: "FASR III-D", Requirement: "When the bitmap is exhausted, FaSR automatically switches " +
		"to GBN. [...] QP will not be returned to SR until the loss recovery is completed."},
	Needs: rule.TapResponder, Sees: sightsOfReceiver, Stimulus: "a pool of one unit and two QPs that lose",
	New: func(c *rule.Context) rule.Check {
		var newest, asked, begun psn.PSN
		seen, back, acked := false, false, false
		return rule.Check{Sight: func(s *rule.Sight) {
			p := s.Pkt
			switch {
			case s.Point == trace.ResponderIn && s.Intact() && s.Relation == rule.Ahead:
				// In-order packets behind them are no part of the recovery. An out-of-order packet after all of them
				// arrived begins another recovery, although answers of the previous one may still be in the port.
				if !seen || newest.Less(c.EPSN) {
					seen, back, begun, newest = true, false, c.EPSN, p.PSN
				}
				newest = psn.Max(newest, p.PSN)
			case s.Point != trace.ResponderOut:
			case rule.IsNAK(p):
				c.Met()
				if back && !acked && p.PSN == asked {
					c.Failf(rule.Responder, "a second NAK of %s in one fallback; one expected", c.Rel(asked))
				}
				back, acked, asked = !seen || begun.LessEq(p.PSN), false, p.PSN
			case rule.IsACK(p):
				acked = acked || !p.PSN.Less(asked)
				back = back && p.PSN.Less(newest)
			case back && isSACK(p):
				c.Failf(rule.Responder, "SACK of %s in fallback to go-back-N; a NAK expected", c.Rel(p.SACK.PSN))
			}
		}}
	},
})
