package gbn

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// flow is the sequence of requests that leave the requester.
type flow struct {
	next psn.PSN // PSN after the latest request
	any  bool    // next is set
}

func (f *flow) sent(c *rule.Context, s *rule.Sight) {
	f.next, f.any = s.Pkt.PSN.Add(max(1, c.Span(s.Pkt))), true
}

// drains reports whether s may have been in the port when a packet arrived at since: it was leaving then, or it
// continues the sequence shortly after.
func (f *flow) drains(c *rule.Context, s *rule.Sight, since vtime.Time) bool {
	return c.Began(s) < since || f.any && s.Pkt.PSN == f.next && c.Port.Lags(since, s.At)
}

var goBackContiguous = rule.Rule{
	ID: "GBN-RTX-001", Level: rule.Must,
	Title: "After a NAK of P the requester sends P, P+1 and so on, without a gap, up to the last PSN sent before",
	Source: rule.Source{Ref: "IBTA 9.7.5.2, GB1 IV-A", Requirement: "On a NAK for PSN sequence error the requester " +
		"resends all requests beginning with the PSN that the NAK carries."},
	Needs: rule.TapRequester, Sees: rule.RequestOut | rule.ResponseIn,
	Wakes: rule.Odd | rule.Late | rule.Asking | rule.Fetch, Features: []string{scheme},
	Stimulus: "a lost request", BlackBox: hardware,
	New: func(c *rule.Context) rule.Check {
		g := goBack{c: c, una: c.UNA, flow: flow{c.MAX, c.Started}} // every request so far was sent once, in order
		return rule.Check{Sight: g.sight}
	},
}

// goBack tracks one retransmission at a time. The requester may skip packets acknowledged meanwhile, and the timer may
// restart it at the oldest unacknowledged packet; GBN-RTX-003 and 005 judge that.
type goBack struct {
	c       *rule.Context
	flow    flow
	known   bool       // a NAK has arrived
	nak     psn.PSN    // its PSN
	at      vtime.Time // its arrival
	armed   bool       // the retransmission has not begun
	running bool       // the retransmission has begun
	end     psn.PSN    // PSN at which the retransmission ends: MAX at the NAK
	una     psn.PSN    // UNA at the latest sight
	moved   vtime.Time // when UNA last moved
	left    vtime.Time // when the latest request left
	aside   bool       // a READ that a box relays has interrupted the retransmission
	resume  psn.PSN    // the PSN at which the retransmission continues then
}

func (g *goBack) sight(s *rule.Sight) {
	c, p := g.c, s.Pkt.PSN
	if g.una != c.UNA {
		g.una, g.moved = c.UNA, s.At
	}
	if s.Point == trace.RequesterIn {
		g.response(s)
		return
	}
	g.asides(s)
	switch fits := p.LessEq(c.UNA); {
	case g.armed && g.late(s):
		g.armed, g.running = false, fits || p == g.nak
		c.Failf(rule.Requester, "%s is sent only %v after a NAK of %s; it is expected at once, "+
			"and not by the timer", c.Rel(p), s.At.Sub(g.at), c.Rel(g.nak))
	case g.armed && (fits || p == g.nak):
		g.armed, g.running = false, true
		if p == g.nak {
			c.Met()
		}
	case g.armed && !g.flow.drains(c, s, g.at):
		g.armed = false
		c.Failf(rule.Requester, "%s is sent after a NAK of %s, which is expected first", c.Rel(p), c.Rel(g.nak))
	case g.running && g.end.LessEq(p) && p == g.flow.next:
		g.running = false
	case g.running && !fits && p != g.flow.next && !g.aside:
		g.running = false
		c.Failf(rule.Requester, "%s is sent in a retransmission; %s is next", c.Rel(p), c.Rel(g.flow.next))
	}
	g.flow.sent(c, s)
	g.left = s.At
}

// asides continues the retransmission behind READs that a box relays for its client, unless the box starts over with
// them.
func (g *goBack) asides(s *rule.Sight) {
	switch p := s.Pkt.PSN; {
	case !g.running:
		g.aside = false
	case g.c.Relayed(s) && (g.aside || p != g.flow.next):
		if !g.aside {
			g.aside, g.resume = true, g.flow.next
		}
	default:
		if g.aside && p == g.resume {
			g.flow.next = p
		}
		g.aside = false
	}
}

// late reports whether a request follows the NAK, or the packets in the port then, after a silence that the NAK does
// not explain.
func (g *goBack) late(s *rule.Sight) bool {
	c, since := g.c, max(g.at, g.left)
	return c.Began(s).Sub(since) > max(rule.Patience, c.Port.Wait()) && !c.Port.Busy(since, s.At) &&
		c.Attr.RateControl == ""
}

func (g *goBack) response(s *rule.Sight) {
	p := s.Pkt
	switch {
	case !s.Intact():
	case endsRecovery(p):
		g.armed, g.running = false, false
	case rule.IsNAK(p) && p.PSN.In(g.c.UNA, g.c.MAX) && !(g.known && p.PSN == g.nak) && !g.recovering(p.PSN) &&
		g.c.GoBackChunk() == 0:
		g.known, g.armed, g.running = true, true, false
		g.nak, g.at, g.end = p.PSN, s.At, g.c.MAX
	}
}

// recovering reports whether a NAK of p is no news. Either p was retransmitted since it became the oldest
// unacknowledged PSN, because READ data were missing or the timer expired; or a READ before p waits for its data, and
// the requester goes back to that READ.
func (g *goBack) recovering(p psn.PSN) bool {
	if _, next, _, ok := g.c.OldestRead(); ok && next.Less(p) {
		return true
	}
	t := g.c.Sent(p)
	return p == g.c.UNA && t != nil && t.Latest > t.First && t.Latest >= g.moved
}

var timeoutFromUNA = rule.Rule{
	ID: "GBN-RTX-003", Level: rule.Must,
	Title: "A timeout makes the requester retransmit from the oldest unacknowledged PSN",
	Source: rule.Source{Ref: "IBTA 9.7.6.1.3", Requirement: "When the transport timer expires the requester " +
		"retries from the oldest unacknowledged request."},
	Needs: rule.TapRequester, Sees: rule.RequestOut | rule.ResponseIn, Features: []string{scheme},
	Stimulus: "every ACK lost", BlackBox: hardware,
	Keeps: true, Each: rule.Kept((*silence).sight),
}

// silence is the time since the requester heard from the responder, and the requests that left in it.
type silence struct {
	heard  vtime.Time // arrival of the latest response, or departure of the first request
	known  bool       // heard is set
	asked  bool       // the response asked for a retransmission
	unsure bool       // the latest request was a step back, or a copy that the network made before a tap
	flow   flow
	resume psn.PSN // behind a copy, this PSN or a later one follows; valid if unsure
}

func (w *silence) sight(c *rule.Context, s *rule.Sight) {
	response := s.Point == trace.RequesterIn
	if response || !w.known {
		w.heard, w.known, w.asked = s.At, true, response && rule.AsksAgain(s.Pkt)
	}
	if response || w.flow.any && w.flow.next.Less(s.Pkt.PSN) && c.Relayed(s) { // the burst goes on behind a relayed READ
		return
	}
	if w.unsure && s.Pkt.PSN.Less(w.resume) {
		c.Failf(rule.Requester, "after a timeout %s and %s are sent; unacknowledged since %s", c.Rel(w.flow.next.Prev()),
			c.Rel(s.Pkt.PSN), c.Rel(c.UNA))
	}
	w.unsure = false
	if w.flow.any && s.Pkt.PSN.Less(w.flow.next) && s.Relation == rule.Again && w.timeout(c, s) &&
		c.GoBackChunk() == 0 && !c.Relayed(s) {
		c.Met()
		switch p := s.Pkt.PSN; {
		case p.LessEq(c.UNA) && (p == c.UNA || c.Port.Lags(w.heard, s.At)):
		case c.Inferred && s.Since < rule.Patience: // a copy comes with the packets around it
			w.unsure, w.resume = true, w.flow.next
		default:
			c.Failf(rule.Requester, "after a timeout %s is sent; unacknowledged since %s", c.Rel(p), c.Rel(c.UNA))
		}
	}
	w.flow.sent(c, s)
}

// timeout reports whether only the timer causes a step back after such a silence. It began when the packet was handed
// to the port, not when the tap saw the packet.
func (w *silence) timeout(c *rule.Context, s *rule.Sight) bool {
	if !c.Known { // neither is the timer, nor UNA before a response, nor how late a NAK is obeyed
		return !c.Port.Lags(w.heard, s.At) && c.UNA != c.Start && !w.asked
	}
	t := c.Attr.TransportTimer()
	return t != 0 && s.At.Sub(w.heard) >= t-rule.TimerEarly(t)
}

var opcodeKept = rule.Rule{
	ID: "GBN-RTX-004", Level: rule.Must, Rests: validity.Sequence,
	Title: "A retransmission inside a message keeps the opcode of its position: a MIDDLE stays a MIDDLE and gets no RETH",
	Source: rule.Source{Ref: "IBTA 9.4, 9.7.5.1.1", Requirement: "A retried packet repeats the original; the opcode " +
		"follows from the packet's position in its message, not from where the retry begins."},
	Needs: rule.TapRequester, Sees: rule.RequestOut, Minds: rule.Late, Features: []string{scheme},
	Stimulus: "a lost MIDDLE or LAST", BlackBox: hardware,
	Each: func(c *rule.Context, s *rule.Sight) {
		if s.Relation != rule.Again || s.Sent == nil || !rule.IsData(s.Sent.Opcode) ||
			s.Sent.Opcode.StartsMessage() {
			return
		}
		c.Met()
		if o := s.Pkt.Opcode; o != s.Sent.Opcode {
			c.Failf(rule.Requester, "%s was %v and is sent again as %v; the same expected", c.Rel(s.Pkt.PSN), s.Sent.Opcode, o)
		}
	},
}
