package gb1

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var oneForOne = rule.Rule{
	ID: "GB1-RTX-001", Level: rule.Must,
	Title: "An isolated loss costs one retransmission, of the lost packet, and nothing else",
	Source: rule.Source{Ref: "GB1 IV-B, Fig. 7", Requirement: "After receiving RACK2, the sender pushes packet 2 " +
		"into the retransmission queue and resends packet 2 with high priority."},
	Needs: rule.Both | rule.Fates | rule.Attributes, Sees: rule.Requests | rule.Responses,
	Features: features,
	Stimulus: "one lost request in a flow of writes", BlackBox: engines,
	New: func(c *rule.Context) rule.Check { return newEpisode(c, false).check() },
}

var gapForGap = rule.Rule{
	ID: "GB1-RTX-002", Level: rule.Must,
	Title: "The loss of n requests in a row causes n retransmissions, of these requests in ascending order",
	Source: rule.Source{Ref: "GB1 IV-C3, Algorithm 1", Requirement: "If a RACK is received, the sender senses that a " +
		"packet loss has occurred and passes the unreceived packets to the retransQueue."},
	Needs: rule.Both | rule.Fates | rule.Attributes, Sees: rule.Requests | rule.Responses,
	Features: features,
	Stimulus: "several requests lost in a row", BlackBox: engines,
	New: func(c *rule.Context) rule.Check { return newEpisode(c, true).check() },
}

// episode tracks one gap, from the loss of its first packet until the packets in flight at its repair are acknowledged.
// Any other disturbance ends it without a judgement; no other episode begins before the packets in flight then are
// acknowledged.
type episode struct {
	c     *rule.Context
	many  bool     // judge gaps of several packets, not of one
	order [2]order // of requests and of responses
	busy  bool     // a disturbance is not over
	calm  psn.PSN  // UNA at which it is over

	open       bool
	first, end psn.PSN // lost PSNs [first, end)
	sent       int     // retransmissions of lost PSNs, in order
	begun      bool    // a retransmission was sent
	until      psn.PSN // MAX at the first retransmission
	due        *model  // what the RACKs ask for
}

func newEpisode(c *rule.Context, many bool) *episode {
	e := &episode{c: c, many: many, due: newModel(c)}
	e.due.expired = e.expired
	return e
}

func (e *episode) check() rule.Check {
	return rule.Check{Sight: e.sight, Event: e.due.event, End: func(vtime.Time) { e.finish() }}
}

func (e *episode) sight(s *rule.Sight) {
	c := e.c
	e.finish()
	if e.mended(s.Pkt) {
		e.abandon(nil)
	}
	e.busy = e.busy && c.UNA.Less(e.calm)
	disturbed := s.Rec.Fate == trace.Injected
	switch s.Point {
	case trace.RequesterOut:
		disturbed = e.order[0].broken(s.Rec) || disturbed
		if e.due.sent(s); e.due.void && e.open {
			e.abandon(nil) // whatever is in flight may be sent again
		}
		e.request(s)
	case trace.ResponderIn:
		disturbed = disturbed || s.Rec.Copy || s.Relation == rule.Ahead && s.Pkt.PSN.Sub(c.EPSN) >= reach(c)
	case trace.ResponderOut:
		disturbed = e.order[1].broken(s.Rec) || disturbed || s.Rec.Lost() || s.Pkt.AETH.Syndrome.IsRNR() ||
			e.other(s.Pkt)
	default:
		e.due.response(s)
		disturbed = disturbed || s.Pkt.Opcode.IsReadResponse() || c.OutstandingReads() > 0
	}
	if disturbed {
		e.abandon(s)
	}
}

// mended reports whether a lost packet is acknowledged, or named by a RACK, before its retransmission: a coding shim
// below recovered it.
func (e *episode) mended(p *roce.Packet) bool {
	next := e.first.Add(e.sent)
	named := isRACK(p) && p.SACK.PSN.In(next, e.end)
	return e.open && (named || next.Less(e.end) && next.Less(e.c.UNA))
}

// other reports whether a response is a RACK that asks for another packet than the episode has seen lost: one that the
// link did not lose, but that was overtaken, perhaps by a packet that a coding shim recovered. Its retransmission is an
// effect of the RACK.
func (e *episode) other(p *roce.Packet) bool {
	return isRACK(p) && !(e.open && p.PSN.In(e.first, e.end))
}

// abandon ends the episode without a judgement: packets in flight, and the one that leaves now, may be retransmitted
// for another cause. s is nil if no packet leaves now.
func (e *episode) abandon(s *rule.Sight) {
	e.open, e.busy, e.calm = false, true, e.c.MAX
	if s != nil && s.Point == trace.RequesterOut {
		e.calm = psn.Max(e.calm, s.Pkt.PSN.Next())
	}
}

func (e *episode) request(s *rule.Sight) {
	c, p := e.c, s.Pkt.PSN
	gone := s.Rec.Lost()
	switch {
	case !e.open:
		if e.busy || s.Relation != rule.First || gone && (!rule.IsData(s.Pkt.Opcode) || c.OutstandingReads() > 0) {
			if gone || s.Relation != rule.First {
				e.busy, e.calm = true, psn.Max(c.MAX, p.Next())
			}
		} else if gone {
			*e = episode{c: c, many: e.many, order: e.order, due: e.due, open: true, first: p, end: p.Next()}
		}
	case gone && s.Relation == rule.First && p == e.end && !e.begun && rule.IsData(s.Pkt.Opcode):
		e.end = p.Next()
	case gone:
		e.abandon(s)
	case s.Relation == rule.Again:
		e.again(s)
	}
}

// again judges a retransmission that the link delivers.
func (e *episode) again(s *rule.Sight) {
	c, p := e.c, s.Pkt.PSN
	if !e.begun {
		e.begun, e.until = true, c.MAX
	}
	want := e.first.Add(e.sent)
	if p == want && p.Less(e.end) {
		e.sent++
		return
	}
	switch {
	case e.many != (e.end.Sub(e.first) > 1):
	case p.In(e.first, e.end):
		c.Failf(rule.Requester, "%s is sent again; %s is the next missing", c.Rel(p), c.Rel(want))
	default:
		c.Failf(rule.Requester, "%s is sent again, but was not lost", c.Rel(p))
	}
	e.abandon(s)
}

// finish judges an episode that is complete.
func (e *episode) finish() {
	if !e.open || !e.begun || e.c.UNA.Less(e.until) {
		return
	}
	e.open = false
	if e.many == (e.end.Sub(e.first) > 1) && e.sent == e.end.Sub(e.first) {
		e.c.Met()
	}
}

// expired ends the episode at a timeout, which is due when the last packets are lost. One that comes while the
// requester knows of missing packets, and has begun to send them again, shows that it left them to the timer.
func (e *episode) expired(at vtime.Time) {
	if l := e.due.list; e.open && e.begun && e.many && len(l) > 0 && l[0].psn.In(e.first, e.end) &&
		!e.c.Port.Lags(l[0].since, at) {
		e.c.Failf(rule.Requester, "RACKs showed that %s is missing, but only the timer recovers it", e.c.Rel(l[0].psn))
	}
	e.abandon(nil)
}
