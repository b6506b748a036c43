package pack

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var gapRefused = judged(rule.Rule{
	ID: "PACK-GAP-001", Level: rule.MustNot,
	Title: "Beyond a gap on the LAN the box sends no pseudo-ACK, and one NAK 0x60 of the expected PSN",
	Source: rule.Source{Ref: ours, Requirement: "To Local the box is a responder, which refuses out-of-order " +
		"requests with one NAK"},
	Stimulus: "a request lost on the LAN", BlackBox: emulated,
}, func(p *path) check {
	g := gaps{p: p, nak: p.c.Owes(rule.Responder, "no NAK although %s is missing")}
	g.nak.Unless = func(rule.Debt) bool { return g.unsaid || g.naks > 0 }
	return check{sight: g.sight}
})

// gaps tracks the responses of the box while a request is missing on the LAN.
type gaps struct {
	p    *path
	nak  *rule.Obligation // due for the open gap
	naks int              // sent for the open gap
	// unsaid: at some time since the gap opened the box could not send a NAK, because a NAK acknowledges all requests
	// before its PSN
	unsaid bool
}

func (g *gaps) sight(s *rule.Sight, w where) {
	p, x := g.p, s.Pkt.PSN
	switch {
	case w == fromLocal && p.begun && p.exp.Less(x):
		p.c.Met()
		if !p.gap {
			g.naks, g.unsaid = 0, !p.real && !p.cm.connected
			g.nak.Arise(s, p.exp)
		}
		g.unsaid = g.unsaid || len(p.holds) > 0 || p.mayBeFull()
	case w == fromLocal && p.gap && x == p.exp:
		g.nak.Close(s.At)
	case w == toLocal && rule.IsACK(s.Pkt) && p.gap && p.exp.LessEq(x):
		p.c.Failf(rule.Responder, "ACK of %s, but %s has not arrived", p.c.Rel(x), p.c.Rel(p.exp))
	case w == toLocal && rule.IsNAK(s.Pkt) && p.gap && !p.waited(s):
		if g.naks++; x != p.exp {
			p.c.Failf(rule.Responder, "NAK of %s; %s is missing", p.c.Rel(x), p.c.Rel(p.exp))
		} else if g.naks > 1 {
			p.c.Failf(rule.Responder, "NAK of %s for the second time; one expected", p.c.Rel(x))
		}
	}
}

var duplicateAnswered = judged(rule.Rule{
	ID: "PACK-DUP-001", Level: rule.Must,
	Title: "A duplicate request draws the newest pseudo-ACK again, and is not forwarded",
	Source: rule.Source{Ref: ours,
		Requirement: "To Local the box is a responder, which answers a duplicate and does not execute it"},
	Stimulus: "a lost pseudo-ACK", BlackBox: emulated,
}, func(p *path) check {
	d := duplicates{p: p, answer: p.c.Owes(rule.Responder, "the duplicate of %s has no answer")}
	d.answer.Unless = func(rule.Debt) bool { return len(p.holds) > 0 || p.cm.left }
	return check{sight: d.sight}
})

// duplicates tracks requests of Local that the box has acknowledged before.
type duplicates struct {
	p      *path
	answer *rule.Obligation // to a duplicate
	begun  bool             // una is set
	una    rule.Heard       // Remote's cumulative acknowledgement, as far as the box knows it
	seen   vtime.Time       // time of the previous sight, which is the time of a change of una since
}

// follow records that the previous sight moved una.
func (d *duplicates) follow(now vtime.Time) {
	switch una := d.p.una; {
	case !d.p.begun || d.begun && una == d.una.Newest():
	case !d.begun || una.Less(d.una.Newest()):
		d.begun, d.una = true, rule.HeardOf(una) // the flow has begun, or begun again
	default:
		d.una.Moved(una, d.seen)
	}
	d.seen = now
}

func (d *duplicates) sight(s *rule.Sight, w where) {
	p, x, o := d.p, s.Pkt.PSN, s.Pkt.Opcode
	data := o.IsSend() || o.IsWrite()
	d.follow(s.At)
	switch {
	case w == fromLocal && data && p.begun && x.Less(p.acked) && !p.fatal:
		p.c.Met()
		if !d.answer.Owed() {
			d.answer.Arise(s, x)
		}
	case w == toLocal && d.answer.Owed() && o == roce.Acknowledge:
		d.answer.Excuse(nil)
		if rule.IsACK(s.Pkt) && x.Next().Less(p.acked) {
			p.c.Failf(rule.Responder, "a duplicate is answered with an ACK of %s; the newest was of %s", p.c.Rel(x),
				p.c.Rel(p.acked.Prev()))
		}
	case w == toRemote && data && p.begun && x.Less(p.una) && x.Less(d.una.Sure(p.c.Port, s.At)):
		p.c.Failf(rule.Requester, "%s leaves again, but Remote has acknowledged it", p.c.Rel(x))
	}
}

var readNotCovered = judged(rule.Rule{
	ID: "PACK-READ-001", Level: rule.MustNot,
	Title: "A pseudo-ACK never covers an unanswered READ or atomic, nor a later PSN",
	Source: rule.Source{Ref: "IBTA 9.7.5.1; " + ours,
		Requirement: "An acknowledgement of a later request implies that the responses of a READ were lost"},
	Stimulus: "a READ between WRITEs", BlackBox: anyNIC,
}, func(p *path) check {
	return check{sight: func(s *rule.Sight, w where) {
		if w != toLocal || s.Pkt.Opcode != roce.Acknowledge || len(p.holds) == 0 || rule.IsFatalNAK(s.Pkt) {
			return
		}
		p.c.Met()
		covered := covers(s.Pkt)
		for i := range p.holds {
			if h := &p.holds[i]; h.first.Less(covered) && !p.followsData(h, covered, s.At) {
				p.c.Failf(rule.Responder,
					"an answer that acknowledges up to %s while the READ at %s waits for its data",
					p.c.Rel(covered.Prev()), p.c.Rel(h.first))
				return
			}
		}
	}}
})

// followsData reports whether an answer waits in the line behind all data of a READ, which Local has asked for again
// meanwhile.
func (p *path) followsData(h *hold, covered psn.PSN, now vtime.Time) bool {
	return h.left == h.end && p.outlives(h.again, covered, now)
}

var readReleases = judged(rule.Rule{
	ID: "PACK-READ-002", Level: rule.Must,
	Title: "After the READ response has passed, the deferred pseudo-ACKs are sent",
	Source: rule.Source{Ref: ours,
		Requirement: "Acknowledgements deferred for a READ are sent when the READ is answered"},
	Stimulus: "a READ between WRITEs", BlackBox: emulated,
}, func(p *path) check {
	r := releases{p: p, ack: p.c.Owes(rule.Responder, "the READ is answered, but Local got no pseudo-ACK of %s")}
	r.ack.Unless = func(rule.Debt) bool { return p.fatal }
	return check{sight: r.sight}
})

// releases tracks the acknowledgements that the answer to a READ makes possible.
type releases struct {
	p   *path
	ack *rule.Obligation
}

func (r *releases) sight(s *rule.Sight, w where) {
	p := r.p
	if w != toLocal {
		return
	}
	if s.Pkt.Opcode == roce.Acknowledge {
		r.ack.Excuse(func(d rule.Debt) bool { return d.PSN.LessEq(s.Pkt.PSN) || rule.IsFatalNAK(s.Pkt) })
		return
	}
	h := p.held(s.Pkt.PSN)
	if h == nil || len(p.holds) == 0 || h != &p.holds[0] || s.Pkt.PSN.Next() != h.end {
		return
	}
	free := p.asked
	if len(p.holds) > 1 {
		free = p.holds[1].asked
	}
	if h.end.Less(free) {
		p.c.Met()
		r.ack.Excuse(nil)
		r.ack.Arise(s, free.Prev())
	}
}
