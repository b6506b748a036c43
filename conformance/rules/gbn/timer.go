package gbn

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// onlyTimer tracks a packet that only the transport timer can recover. It must be sent again within four times the
// timer's value (IBTA 9.7.6.1.3) after the timer's latest start: at the loss, a response, a retransmission, or a
// request for which starts is true.
type onlyTimer struct {
	c     *rule.Context
	again *rule.Obligation // to send the lost packet again
	asks  bool             // asked is set
	asked psn.PSN          // last PSN of the requests that ask for a response
}

func newOnlyTimer(c *rule.Context, lost string) *onlyTimer {
	o := &onlyTimer{c: c, again: c.Owes(rule.Requester, "%s is not sent again in time after "+lost)}
	o.again.Within = rule.TimerSlow * c.Attr.TransportTimer()
	o.again.Unless = func(d rule.Debt) bool { return d.PSN.Less(c.UNA) } // it had arrived
	return o
}

// lose starts the wait for p, whose loss s shows. It drops an earlier wait.
func (o *onlyTimer) lose(s *rule.Sight, p psn.PSN) {
	if o.again.Excuse(nil); o.c.Attr.TransportTimer() != 0 {
		o.again.Arise(s, p)
	}
}

// see processes every request that leaves the requester and every response that reaches it.
func (o *onlyTimer) see(s *rule.Sight) {
	c := o.c
	starts := o.starts(s)
	o.again.Excuse(func(d rule.Debt) bool { return c.Failed || o.again.Unless(d) })
	switch {
	case s.Point == trace.RequesterIn:
		o.again.Restart(s.At)
	case s.Relation == rule.Again:
		o.again.Settle(s.At, func(d rule.Debt) bool { return s.Pkt.PSN.LessEq(d.PSN) })
		// The rest of the lost packet's burst may wait for the line in between, and restarts the timer.
		o.again.Restart(s.At)
	case starts:
		o.again.Restart(s.At)
	}
}

// starts reports whether s asks for a response while no other request waits for one: before that no response can come,
// and no timer runs.
func (o *onlyTimer) starts(s *rule.Sight) bool {
	if s.Point != trace.RequesterOut || !s.Pkt.AckReq {
		return false
	}
	idle, last := !o.asks || o.asked.Less(o.c.UNA), s.Pkt.PSN.Add(max(1, o.c.Span(s.Pkt))-1)
	if idle || o.asked.Less(last) {
		o.asked = last
	}
	o.asks = true
	return idle
}

var headLost = rule.Rule{
	ID: "GBN-RTX-006", Level: rule.Must,
	Title: "When the retransmission of the missing packet is lost too, the timer alone repairs it",
	Source: rule.Source{Ref: "IBTA 9.7.5.2, 9.7.6.1.3", Requirement: "A sequence NAK is sent once per error, so the " +
		"loss of the retried packet is detected by the requester's transport timer."},
	Needs: rule.Both | rule.Fates | rule.Attributes, Sees: rule.RequestOut | rule.ResponseIn,
	Minds: rule.Asked | rule.Late | rule.Answer, Features: []string{scheme},
	Stimulus: "the same request lost twice", BlackBox: hardware,
	New: func(c *rule.Context) rule.Check {
		o := newOnlyTimer(c, "the loss of its retransmission")
		var head psn.PSN
		known := false  // head was named by a NAK
		second := false // and again since the loss
		return rule.Check{Sight: func(s *rule.Sight) {
			p := s.Pkt.PSN
			if s.Point == trace.RequesterIn {
				if rule.IsNAK(s.Pkt) && s.Intact() && interval(c) == 0 {
					second = o.again.About(p)
					head, known = p, true
				}
				o.see(s)
				return
			}
			if second && o.again.About(p) && s.Sent != nil && s.At.Sub(s.Sent.First) < c.Attr.TransportTimer() {
				c.Failf(rule.Requester,
					"%s is sent again upon a second NAK, before the timer; nothing expected until then", c.Rel(p))
			}
			o.see(s)
			if known && p == head && s.Relation == rule.Again && s.Rec.Lost() {
				second = false
				o.lose(s, p)
			}
		}}
	},
}

var nakLost = rule.Rule{
	ID: "GBN-RTX-007", Level: rule.Must,
	Title: "When the NAK is lost, the timer repairs the gap",
	Source: rule.Source{Ref: "IBTA 9.7.6.1.3", Requirement: "The requester's transport timer detects that a " +
		"response is missing, also when the response was a NAK."},
	Needs: rule.Both | rule.Fates | rule.Attributes, Sees: rule.RequestOut | rule.Responses,
	Minds: rule.Asked | rule.Late | rule.Answer, Features: []string{scheme},
	Stimulus: "a lost request, and the loss of its NAK", BlackBox: hardware,
	New: func(c *rule.Context) rule.Check {
		o := newOnlyTimer(c, "the loss of its NAK")
		return rule.Check{Sight: func(s *rule.Sight) {
			if s.Point != trace.ResponderOut {
				o.see(s)
			} else if rule.IsNAK(s.Pkt) && s.Rec.Lost() {
				o.lose(s, s.Pkt.PSN)
			}
		}}
	},
}

var tailLost = rule.Rule{
	ID: "GBN-TAIL-001", Level: rule.Must,
	Title: "The loss of the last packet of the last message is repaired by the timer",
	Source: rule.Source{Ref: "IBTA 9.7.6.1.3", Requirement: "A lost request that no other follows leaves nothing " +
		"for the responder to NAK; the transport timer detects it."},
	Needs: rule.Both | rule.Fates | rule.Attributes, Sees: rule.RequestOut | rule.ResponseIn,
	Minds: rule.Edge | rule.Asked | rule.Late | rule.Answer, Features: []string{scheme},
	Stimulus: "the last request lost", BlackBox: hardware,
	New: func(c *rule.Context) rule.Check {
		o := newOnlyTimer(c, "the loss of the last packet")
		return rule.Check{Sight: func(s *rule.Sight) {
			o.see(s)
			if s.Point != trace.RequesterOut {
				return
			}
			if s.Relation == rule.First {
				o.again.Excuse(nil) // it was not the last: a later request can draw a NAK
			}
			next := s.Pkt.PSN.Add(max(1, c.Span(s.Pkt)))
			if s.Pkt.Opcode.EndsMessage() && c.MAX.LessEq(next) && s.Rec.Lost() {
				o.lose(s, s.Pkt.PSN)
			}
		}}
	},
}
