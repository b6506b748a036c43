package gbn

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/timeout"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var nakAcknowledges = rule.Rule{
	ID: "GBN-RTX-002", Level: rule.Must,
	Title: "A NAK of P acknowledges every PSN before P: none of them is sent again",
	Source: rule.Source{Ref: "IBTA 9.7.5.1.1", Requirement: "A NAK implicitly acknowledges all requests with a " +
		"PSN earlier than that of the NAK."},
	Needs: rule.TapRequester, Sees: rule.RequestOut | rule.ResponseIn,
	Wakes: rule.Odd | rule.Late | rule.Asking | rule.Fetch, Features: []string{scheme},
	Stimulus: "a lost request after requests whose ACK is lost", BlackBox: hardware,
	New: func(c *rule.Context) rule.Check {
		clock := timeout.NewClock(c)
		if !c.Known {
			clock = timeout.NewClock(c, vtime.Picosecond) // nothing tells how short the timer is
		}
		f := floor{c: c, clock: clock, flow: flow{c.MAX, c.Started}} // every request so far was sent once, in order
		return rule.Check{Sight: f.sight, Event: f.event}
	},
}

// floor is the PSN of the latest NAK that acknowledged requests.
type floor struct {
	c     *rule.Context
	clock *timeout.Clock
	flow  flow
	known bool       // psn, at and una are set
	psn   psn.PSN    // of the NAK
	at    vtime.Time // its arrival
	una   psn.PSN    // the oldest packet before it came
	// A response or a timeout may have made the requester go back, or skip acknowledged packets, and no request shows
	// that yet. A NAK that arrives meanwhile is not judged.
	due    bool
	target psn.PSN    // the PSN that it goes to
	since  vtime.Time // when it was told to
}

func (f *floor) sight(s *rule.Sight) {
	c, p := f.c, s.Pkt.PSN
	f.clock.Sight(s)
	if s.Point == trace.RequesterIn {
		f.response(s)
		return
	}
	// A READ before the floor may wait for data; RC-READ-002 judges where it is re-issued from.
	switch {
	case !f.known || s.Relation != rule.Again || !rule.IsData(s.Pkt.Opcode) || f.flow.drains(c, s, f.at):
	case p.LessEq(f.una) && f.expires(s):
		f.known = false
	case p.Less(f.psn) && p.Less(c.UNA):
		c.Failf(rule.Requester, "%s is sent again although a NAK of %s acknowledged it", c.Rel(p), c.Rel(f.psn))
	case p == f.psn:
		c.Met()
	}
	f.due = f.due && (f.flow.drains(c, s, f.since) || p.Less(f.target))
	f.flow.sent(c, s)
}

// expires reports whether the timer may have made the requester go back to a packet that was the oldest before the NAK
// came, because the requester had not processed the NAK then.
func (f *floor) expires(s *rule.Sight) bool {
	_, ok := f.clock.Expires(s)
	if ok && !f.c.Known {
		f.c.Doubt("a timeout may have come just before a NAK: the period of the timer is unknown")
	}
	return ok
}

func (f *floor) response(s *rule.Sight) {
	c, p := f.c, s.Pkt.PSN
	if !s.Intact() || !p.In(c.UNA, c.MAX) || c.GoBackChunk() != 0 {
		return
	}
	if rule.IsNAK(s.Pkt) && p != c.UNA {
		f.known, f.psn, f.at, f.una = !f.due, p, s.At, c.UNA
	}
	// An ACK moves the requester only while it retransmits, or when the ACK shows that READ data are missing.
	if rule.IsNAK(s.Pkt) || f.flow.next != c.MAX || c.OutstandingReads() > 0 {
		f.due, f.target, f.since = true, p, s.At
	}
}

func (f *floor) event(e *trace.Event) {
	if e.Kind == trace.Timeout && f.c.Mine(e) {
		f.known = f.known && !(e.Body.PSN.LessEq(f.una) && f.c.Port.Lags(f.at, e.At)) // the NAK may be in the port
		f.due, f.target, f.since = true, f.c.UNA, e.At
	}
}
