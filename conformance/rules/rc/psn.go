package rc

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var psnConsecutive = rule.Rule{
	ID: "RC-PSN-001", Level: rule.Must, Rests: validity.Sequence,
	Title: "First transmissions of requests have consecutive PSNs: one more per packet, and one more per " +
		"response packet after a READ",
	Source: rule.Source{Ref: "IBTA 9.7.1, 9.7.2", Requirement: "The requester increments the PSN by one for each " +
		"request packet, and after an RDMA READ request by the number of response packets expected."},
	Needs: rule.TapRequester, Sees: rule.RequestOut, Stimulus: "mixed operations", BlackBox: hardware,
	Keeps: true, Each: func(c *rule.Context, s *rule.Sight) {
		if s.Relation != rule.First {
			return
		}
		switch o := rule.State[outset](c); {
		case !o.begun:
			*o = outset{true, c.Keeps() && !s.Pkt.Opcode.StartsMessage()}
		case s.Pkt.PSN == c.MAX:
			c.Met()
		case o.flying:
			o.flying = false
		default:
			c.Failf(rule.Requester, "first transmission of %s, %s expected", c.Rel(s.Pkt.PSN), c.Rel(c.MAX))
		}
	},
}

// outset is how the requests of a trace begin.
type outset struct {
	begun bool // a request was seen
	// requests sent before the trace may be in flight, and one step leads over them: the trace began within a message,
	// and the responder keeps what is early
	flying bool
}

var psnStart = rule.Rule{
	ID: "RC-PSN-002", Level: rule.Must, Rests: validity.Sequence,
	Title: "The first request carries the negotiated starting PSN",
	Source: rule.Source{Ref: "IBTA 12.7.20, 10.3.1", Requirement: "The starting PSN of the send queue, given when the " +
		"QP goes to RTS, is the PSN of the first request packet."},
	Needs: rule.TapRequester | rule.Attributes, Sees: rule.RequestOut, Minds: rule.Edge | rule.Early | rule.Late,
	Stimulus: "any request", BlackBox: hardware,
	New: func(c *rule.Context) rule.Check {
		any := false
		return rule.Check{Sight: func(s *rule.Sight) {
			if any {
				return
			}
			any = true
			c.Met()
			if s.Pkt.PSN != c.Attr.SendPSN {
				c.Failf(rule.Requester, "first request has %s, %s expected", c.Rel(s.Pkt.PSN), c.Rel(c.Attr.SendPSN))
			}
		}}
	},
}

// wrapStuck is how often an acknowledged PSN from before the wrap may be sent again. A burst that crosses the
// acknowledgement is shorter; an endpoint that compares PSNs as integers never stops.
const wrapStuck = 64

var psnWrap = rule.Rule{
	ID: "RC-PSN-003", Level: rule.Must,
	Title: "PSNs are compared modulo 2^24: crossing from 0xFFFFFF to 0 changes nothing",
	Source: rule.Source{Ref: "IBTA 9.7.2", Requirement: "PSNs are compared modulo 2^24; of two PSNs less than 2^23 " +
		"apart one precedes the other, across the wrap too."},
	Needs: rule.Both, Sees: rule.Requests | rule.ReleaseIn | rule.ResponseOut,
	Stimulus: "a run across the wrap, with a loss at the edge", BlackBox: hardware,
	New: func(c *rule.Context) rule.Check {
		w := wrapCheck{c: c, answer: c.Owes(rule.Responder, "no answer to the first request beyond the wrap")}
		return rule.Check{Sight: w.sight}
	},
}

// wrapCheck tracks a conversation across the wrap.
type wrapCheck struct {
	c       *rule.Context
	again   int              // retransmissions of acknowledged PSNs from before the wrap
	answer  *rule.Obligation // to the first request after the wrap that asks for one
	arrived [64]lastSeen     // the latest requests that arrived in their turn, by PSN modulo 64
}

// lastSeen is when a PSN arrived in its turn. Where the responder may have dropped it when it came early, that is when
// the latest copy came.
type lastSeen struct {
	psn psn.PSN
	at  vtime.Time
}

// late reports whether a NAK for p leaves so long after p arrived that it was made after that. A NAK that waited in the
// port while p arrived was right when it was made, however many responses waited before it.
func (w *wrapCheck) late(p psn.PSN, now vtime.Time) bool {
	a := w.arrived[p%64]
	return p.Less(w.c.EPSN) && (a.psn != p || !w.c.PeerPort.Lags(a.at, now) && !w.c.PeerPort.Busy(a.at, now))
}

// wrapped reports whether p lies before the latest wrap and q after it.
func wrapped(p, q psn.PSN) bool { return p.Less(q) && uint32(p) > uint32(q) }

func (w *wrapCheck) sight(s *rule.Sight) {
	c, p := w.c, s.Pkt.PSN
	switch s.Point {
	case trace.RequesterOut:
		w.request(s)
	case trace.ResponderIn:
		if s.Legal || s.Relation == rule.Duplicate && rule.Assumed(c.Conversation, p) {
			w.arrived[p%64] = lastSeen{p, s.At}
		}
		if s.Legal && s.Pkt.AckReq && uint32(p) < psn.Half && wrapped(c.Start, p.Next()) && !w.answer.Owed() {
			w.answer.Arise(s, p)
		}
	case trace.ResponderOut:
		if s.Pkt.Opcode.NumberedApart() {
			return
		}
		if uint32(p) < psn.Half && !s.Pkt.AETH.Syndrome.IsNAK() {
			w.answer.Discharge(nil)
		}
		// A selective acknowledgement reports the state when its packet arrived; it may have waited in the port since.
		if w.answer.Owed() && s.Pkt.AETH.Syndrome == roce.SyndromePSNSeqErr && w.late(p, s.At) &&
			!rule.Selective(s.Pkt) {
			c.Failf(rule.Responder, "NAK asks for %s, which arrived in order across the wrap", c.Rel(p))
		}
		last, ok := rule.Acknowledged(s.Pkt) // a NAK also acknowledges the PSNs before its own
		w.answer.Discharge(func(d rule.Debt) bool { return ok && d.PSN.LessEq(last) })
	}
}

func (w *wrapCheck) request(s *rule.Sight) {
	c, p := w.c, s.Pkt.PSN
	if s.Relation == rule.First && c.MAX == 0 && c.Start != 0 {
		c.Met()
		if p != 0 {
			c.Failf(rule.Requester, "PSN %d follows 0xFFFFFF, 0 expected", p)
		}
	}
	if s.Relation == rule.Again && !c.Relayed(s) && wrapped(p, c.UNA) && p.Less(c.GoBackPoint(c.UNA)) {
		if w.again++; w.again == wrapStuck {
			c.Failf(rule.Requester, "%s is sent again and again although an acknowledgement beyond the wrap covers it", c.Rel(p))
		}
	}
}

var psnSpan = rule.Rule{
	ID: "RC-PSN-004", Level: rule.MustNot, Rests: validity.Sequence,
	Title: "The span of unacknowledged PSNs never reaches 2^23",
	Source: rule.Source{Ref: "IBTA 9.7.2", Requirement: "The requester must not have more than 2^23 - 1 PSNs " +
		"outstanding, so that the responder can tell a duplicate from a packet of the future."},
	Needs: rule.TapRequester, Sees: rule.RequestOut, Stimulus: "more than one request outstanding",
	BlackBox: engines,
	Each: func(c *rule.Context, s *rule.Sight) {
		n := c.Span(s.Pkt)
		if s.Relation != rule.First || n == 0 {
			return
		}
		// The span wraps to a negative number exactly when it reaches 2^23.
		if span := s.Pkt.PSN.Sub(c.UNA) + n; span < 0 || span >= psn.Half {
			c.Failf(rule.Requester, "%d PSNs are unacknowledged; fewer than 2^23 expected", span&psn.Mask)
		} else if span > 1 {
			c.Met()
		}
	},
}

var psnSameContent = rule.Rule{
	ID: "RC-PSN-005", Level: rule.Must, Rests: validity.Sequence,
	Title: "A retransmitted PSN carries the payload, address, key, immediate, operands and position in the " +
		"message of its first transmission",
	Source: rule.Source{Ref: "IBTA 9.7.5.1.1",
		Requirement: "A retried request packet has the PSN and the content of the packet that it repeats."},
	Needs: rule.TapRequester, Sees: rule.RequestOut, Minds: rule.Late, Stimulus: "a lost request",
	BlackBox: hardware,
	Each: func(c *rule.Context, s *rule.Sight) {
		if s.Relation != rule.Again || s.Sent == nil {
			return
		}
		switch what := difference(s); {
		case what != "":
			c.Failf(rule.Requester, "%s is sent again with another %s", c.Rel(s.Pkt.PSN), what)
		case s.Pkt.Len > 0 && (s.Sum == 0 || s.Sent.Sum == 0) && c.Offers(rule.Bytes):
			c.Doubt("the payload of " + c.Rel(s.Pkt.PSN) + " is not in the capture")
		default:
			c.Met()
		}
	},
}

// difference names the part in which a retransmission differs from the first transmission; "" when none does. A READ
// may ask for the remaining data only, so RC-READ-002 judges its address and length.
func difference(s *rule.Sight) string {
	p, was := s.Pkt, s.Sent
	o := p.Opcode
	switch {
	case rule.OperationOf(o) != rule.OperationOf(was.Opcode), o.IsAtomic() && o != was.Opcode:
		return "operation"
	case o.IsRead():
		if p.RETH.RKey != was.RKey {
			return "R_Key"
		}
		return ""
	case o.StartsMessage() != was.Opcode.StartsMessage(), o.EndsMessage() != was.Opcode.EndsMessage():
		return "position in its message"
	case p.Len != was.Len:
		return "length"
	case o.Layout()&(roce.LayoutRETH|roce.LayoutVAETH|roce.LayoutAtomicETH) != 0 && p.RETH.VA != was.VA:
		return "address"
	case p.RETH.RKey != was.RKey:
		return "R_Key"
	case rule.Extra(p) != was.Extra:
		return rule.ExtraName(o)
	case s.Sum != 0 && was.Sum != 0 && s.Sum != was.Sum:
		return "payload"
	}
	return ""
}

// acrossWrap returns the end of a finding about two MSNs on both sides of the wrap, and "" for other MSNs.
func acrossWrap(a, b psn.MSN) string {
	if b.Sub(a) == int(b)-int(a) {
		return ""
	}
	return " (across the wrap of the MSN, after 0xFFFFFF comes 0)"
}
