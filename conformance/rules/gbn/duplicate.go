package gbn

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

var duplicateAnswered = rule.Rule{
	ID: "GBN-DUP-001", Level: rule.Must,
	Title: "A SEND or WRITE packet that comes again is acknowledged with the newest completed PSN and not executed again",
	Source: rule.Source{Ref: "IBTA 9.7.5.1.1, C9-105",
		Requirement: "For a duplicate SEND or RDMA WRITE request the responder shall send an " +
			"acknowledgement for the most recently completed request, and shall not execute the duplicate."},
	Needs: rule.TapResponder, Sees: rule.RequestIn | rule.ResponseOut, Wakes: rule.Late, Features: []string{scheme},
	Stimulus: "lost ACKs and the retransmission that follows", BlackBox: hardware,
	New: func(c *rule.Context) rule.Check {
		d := duplicates{c: c, acked: c.Earned.Acked, any: c.Earned.Heard, answer: c.Owes(rule.Responder,
			"a duplicate is not answered with an ACK of %s")}
		d.answer.Prompt = true
		return rule.Check{Sight: d.sight, Event: d.event}
	},
}

// duplicates tracks the oldest duplicate that waits for its answer. Only a duplicate that requests an ACK is owed one,
// because answers to others may be coalesced with it. It must also have been acknowledged before: its first
// acknowledgement may be delayed, as by a box whose buffer is full.
type duplicates struct {
	c      *rule.Context
	answer *rule.Obligation // to the duplicate, about the newest PSN acknowledged when it came
	acked  psn.PSN          // the newest PSN acknowledged, if any is set
	any    bool
	latest rule.Payload // the newest arrival, when it was a duplicate
	credit int          // packets executed whose placement has not been reported
}

func (d *duplicates) sight(s *rule.Sight) {
	c, p := d.c, s.Pkt
	switch {
	case c.Fatal || c.RNRWait:
		d.answer.Excuse(nil) // the QP is in error, or waits for a receive
	case s.Point == trace.ResponderOut:
		d.answered(p)
	case !s.Intact() || !rule.IsData(p.Opcode):
	case s.Relation == rule.Duplicate:
		d.latest = rule.PayloadOf(s)
		if p.AckReq && !d.answer.Owed() && d.any && p.PSN.LessEq(d.acked) {
			d.answer.Arise(s, d.acked)
		}
	case s.Legal:
		d.latest = rule.Payload{}
		if p.Len > 0 {
			d.credit++
		}
	}
}

// answered processes a response: a PSN from the newest acknowledged one on answers the duplicate.
func (d *duplicates) answered(p *roce.Packet) {
	if last, ok := rule.Acknowledged(p); ok && (!d.any || d.acked.Less(last)) {
		d.any, d.acked = true, last
	}
	d.answer.Discharge(func(o rule.Debt) bool { return !p.PSN.Less(o.PSN) })
}

// event counts placements: there is one for each executed packet, and any other is the duplicate's.
func (d *duplicates) event(e *trace.Event) {
	if e.Kind != trace.Store || d.c.Mine(e) {
		return
	}
	if d.credit > 0 {
		d.credit--
		return
	}
	if d.latest.IsOf(e) {
		d.c.Failf(rule.Responder, "duplicate %s is placed again; one placement expected", d.c.Rel(d.latest.PSN))
	}
}
