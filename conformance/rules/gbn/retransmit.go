package gbn

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// flow is the sequence of requests that leave the requester.
type flow struct {
	next psn.PSN // what follows the latest request
	any  bool
}

func (f *flow) sent(c *rule.Context, s *rule.Sight) {
	f.next, f.any = s.Pkt.PSN.Add(max(1, c.Span(s.Pkt))), true
}

// drains reports whether s may have been in the port already when something arrived at since: it continues what was
// being sent, and soon.
func (f *flow) drains(s *rule.Sight, since vtime.Time) bool {
	return f.any && s.Pkt.PSN == f.next && s.At.Sub(since) <= drain
}

func goBackContiguous() rule.Rule {
	return rule.Rule{
		ID: "GBN-RTX-001", Level: rule.Must,
		Title: "After a NAK of P the requester sends P, P+1 and so on, without a gap, up to what it had sent before",
		Source: rule.Source{Ref: "IBTA 9.7.5.2, GB1 IV-A", Quote: "On a NAK for PSN sequence error the requester resends all requests " +
			"beginning with the PSN that the NAK carries."},
		Needs: rule.TapRequester, Sees: rule.RequestOut | rule.ResponseIn, Features: []string{scheme},
		Stimulus: "a lost request", BlackBox: hardware,
		New: func(c *rule.Context) rule.Check {
			g := goBack{c: c}
			return rule.Check{Sight: g.sight}
		},
	}
}

// goBack follows one retransmission at a time. What an acknowledgement has covered meanwhile may be skipped, and a
// restart at the oldest unacknowledged packet is the timer's right; GBN-RTX-003 and 005 judge that.
type goBack struct {
	c       *rule.Context
	flow    flow
	known   bool // a NAK has arrived
	nak     psn.PSN
	at      vtime.Time
	armed   bool    // the retransmission has not begun
	running bool    // it has
	end     psn.PSN // where it ends: what was sent before the NAK
}

func (g *goBack) sight(s *rule.Sight) {
	c, p := g.c, s.Pkt.PSN
	if s.Point == trace.RequesterIn {
		g.response(s)
		return
	}
	switch fits := p.LessEq(c.UNA); {
	case g.armed && (fits || p == g.nak):
		g.armed, g.running = false, true
		if p == g.nak {
			c.Met()
		}
	case g.armed && !g.flow.drains(s, g.at):
		g.armed = false
		c.Failf(rule.Requester, "%s is sent after a NAK of %s", c.Rel(p), c.Rel(g.nak))
	case g.running && g.end.LessEq(p) && p == g.flow.next:
		g.running = false
	case g.running && !fits && p != g.flow.next:
		g.running = false
		c.Failf(rule.Requester, "%s is sent where the retransmission had come to %s", c.Rel(p), c.Rel(g.flow.next))
	}
	g.flow.sent(c, s)
}

func (g *goBack) response(s *rule.Sight) {
	p := s.Pkt
	switch {
	case !s.Intact():
	case endsRecovery(p):
		g.armed, g.running = false, false
	case isNAK(p) && p.PSN.In(g.c.UNA, g.c.MAX) && !(g.known && p.PSN == g.nak) && chunk(g.c) == 0:
		g.known, g.armed, g.running = true, true, false
		g.nak, g.at, g.end = p.PSN, s.At, g.c.MAX
	}
}

func nakAcknowledges() rule.Rule {
	return rule.Rule{
		ID: "GBN-RTX-002", Level: rule.Must,
		Title: "A NAK of P acknowledges every PSN before P: none of them is sent again",
		Source: rule.Source{Ref: "IBTA 9.7.5.1.1", Quote: "A NAK implicitly acknowledges all requests with a PSN earlier than that " +
			"of the NAK."},
		Needs: rule.TapRequester, Sees: rule.RequestOut | rule.ResponseIn, Features: []string{scheme},
		Stimulus: "a lost request after requests whose ACK is lost", BlackBox: hardware,
		New: func(c *rule.Context) rule.Check {
			var f flow
			var floor psn.PSN
			var at vtime.Time
			known := false
			return rule.Check{Sight: func(s *rule.Sight) {
				p := s.Pkt.PSN
				if s.Point == trace.RequesterIn {
					if isNAK(s.Pkt) && s.Intact() && p.In(c.UNA, c.MAX) && p != c.UNA && chunk(c) == 0 {
						known, floor, at = true, p, s.At
					}
					return
				}
				// What lies before the floor and is not acknowledged is a READ that waits for data.
				switch {
				case !known || s.Relation != rule.Again || f.drains(s, at):
				case p.Less(floor) && p.Less(c.UNA):
					c.Failf(rule.Requester, "%s is sent again although a NAK of %s acknowledged it", c.Rel(p), c.Rel(floor))
				case p == floor:
					c.Met()
				}
				f.sent(c, s)
			}}
		},
	}
}

func timeoutFromUNA() rule.Rule {
	return rule.Rule{
		ID: "GBN-RTX-003", Level: rule.Must,
		Title: "A timeout makes the requester retransmit from the oldest unacknowledged PSN",
		Source: rule.Source{Ref: "IBTA 9.7.6.1.3", Quote: "When the transport timer expires the requester retries from the oldest " +
			"unacknowledged request."},
		Needs: rule.TapRequester | rule.Attributes, Sees: rule.RequestOut | rule.ResponseIn, Features: []string{scheme},
		Stimulus: "every ACK lost", BlackBox: hardware,
		New: func(c *rule.Context) rule.Check {
			var f flow
			heard := vtime.Never // the latest response, or the first request
			return rule.Check{Sight: func(s *rule.Sight) {
				if s.Point == trace.RequesterIn || heard == vtime.Never {
					heard = s.At
				}
				if s.Point == trace.RequesterIn {
					return
				}
				// A step back after such a silence is nobody's doing but the timer's.
				p, t := s.Pkt.PSN, c.Attr.TransportTimer()
				if f.any && p.Less(f.next) && s.Relation == rule.Again && t != 0 && s.At.Sub(heard) >= t && chunk(c) == 0 {
					c.Met()
					if p != c.UNA {
						c.Failf(rule.Requester, "after a timeout %s is sent; unacknowledged since %s", c.Rel(p), c.Rel(c.UNA))
					}
				}
				f.sent(c, s)
			}}
		},
	}
}

func opcodeKept() rule.Rule {
	return rule.Rule{
		ID: "GBN-RTX-004", Level: rule.Must,
		Title: "A retransmission inside a message keeps the opcode of its position: a MIDDLE stays a MIDDLE and gets no RETH",
		Source: rule.Source{Ref: "IBTA 9.4, 9.7.5.1.1", Quote: "A retried packet repeats the original; the opcode follows from the " +
			"packet's position in its message, not from where the retry begins."},
		Needs: rule.TapRequester, Sees: rule.RequestOut, Features: []string{scheme},
		Stimulus: "a lost MIDDLE or LAST", BlackBox: hardware,
		New: func(c *rule.Context) rule.Check {
			return rule.Check{Sight: func(s *rule.Sight) {
				if s.Relation != rule.Again || s.Sent == nil || !isData(s.Sent.Opcode) || s.Sent.Opcode.StartsMessage() {
					return
				}
				c.Met()
				if o := s.Pkt.Opcode; o != s.Sent.Opcode {
					c.Failf(rule.Requester, "%s was %v and is sent again as %v", c.Rel(s.Pkt.PSN), s.Sent.Opcode, o)
				}
			}}
		},
	}
}

func oneRecovery() rule.Rule {
	return rule.Rule{
		ID: "GBN-RTX-005", Level: rule.MustNot,
		Title: "A second NAK of P while P is being recovered does not restart the retransmission",
		Source: rule.Source{Ref: "IBTA 9.7.5.2, soft-RoCE", Quote: "A NAK for a PSN that is being retried already says nothing new, so " +
			"the requester goes on with its retry."},
		Needs: rule.TapRequester | rule.Attributes, Sees: rule.RequestOut | rule.ResponseIn, Features: []string{scheme},
		Stimulus: "a duplicated NAK", BlackBox: "RXE,ENG",
		New: func(c *rule.Context) rule.Check {
			r := recovery{c: c}
			return rule.Check{Sight: r.sight}
		},
	}
}

// recovery counts how often the head of one recovery is sent. The timer may restart it as well, but not before it has
// run out, and it was not running before the head was first sent.
type recovery struct {
	c      *rule.Context
	active bool
	second bool // the NAK has come again
	head   psn.PSN
	since  vtime.Time
	sent   int
}

func (r *recovery) sight(s *rule.Sight) {
	c, p := r.c, s.Pkt.PSN
	if s.Point == trace.RequesterIn {
		r.response(s)
		return
	}
	if r.active = r.active && !r.head.Less(c.UNA); !r.active || p != r.head {
		return
	}
	if r.sent++; r.sent < 2 {
		return
	}
	if t := c.Attr.TransportTimer(); r.second && (t == 0 || s.At.Sub(r.since) < t) {
		c.Failf(rule.Requester, "%s is sent once more upon a second NAK", c.Rel(p))
	}
	r.active = false
}

func (r *recovery) response(s *rule.Sight) {
	c, p := r.c, s.Pkt
	switch {
	case !s.Intact():
	case endsRecovery(p):
		r.active = false
	case !isNAK(p) || !p.PSN.In(c.UNA, c.MAX) || interval(c) != 0:
	case r.active && p.PSN == r.head:
		r.second = true
		c.Met()
	default:
		*r = recovery{c: c, active: true, head: p.PSN, since: s.At}
		if t := c.Sent(p.PSN); t != nil {
			r.since = t.First
		}
	}
}
