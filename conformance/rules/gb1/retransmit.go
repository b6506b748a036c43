package gb1

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var resentFirst = rule.Rule{
	ID: "GB1-RTX-003", Level: rule.Must,
	Title: "A packet that a RACK shows to be missing is sent again before any new data",
	Source: rule.Source{Ref: "GB1 IV-C3, Algorithm 2", Requirement: "… the function that obtains the next packet to be " +
		"sent must be modified synchronously, and the packets in the retransQueue are preferentially sent."},
	Needs: rule.TapRequester | rule.Attributes, Sees: rule.RequestOut | rule.ResponseIn, Features: features,
	Stimulus: "a RACK while there is new data to send", BlackBox: engines,
	New: func(c *rule.Context) rule.Check {
		m := newModel(c)
		served := false
		return rule.Check{Event: m.event, Sight: func(s *rule.Sight) {
			if s.Point == trace.RequesterIn {
				m.response(s)
				return
			}
			_, ok := m.sent(s)
			switch {
			case m.void || c.Failed:
			case ok:
				served = true
			case s.Relation == rule.First && len(m.list) > 0 && !c.Port.Lags(m.list[0].since, s.At):
				c.Failf(rule.Requester, "%s is sent for the first time, while %s waits to be sent again",
					c.Rel(s.Pkt.PSN), c.Rel(m.list[0].psn))
				m.list = m.list[1:]
			case s.Relation == rule.First && len(m.list) == 0 && served:
				served = false
				c.Met()
			}
		}}
	},
}

var acknowledgedSkipped = rule.Rule{
	ID: "GB1-RTX-004", Level: rule.Must,
	Title: "A queued packet that is acknowledged before its turn is not sent again",
	Source: rule.Source{Ref: "GB1 Algorithm 2, lines 16 to 19", Requirement: "while seqOfPkg < qp.snd_una and not " +
		"qp.retransQueue.empty() do seqOfPkg ← qp.retransQueue.front()"},
	Needs: rule.TapRequester, Sees: rule.RequestOut | rule.ResponseIn, Features: features,
	Stimulus: "an acknowledgement of packets that a RACK had shown to be missing, before they are sent again",
	BlackBox: engines,
	New: func(c *rule.Context) rule.Check {
		m := newModel(c)
		waiting := 0
		return rule.Check{Event: m.event, Sight: func(s *rule.Sight) {
			before := len(m.list)
			m.settle()
			waiting += before - len(m.list)
			if s.Point == trace.RequesterIn {
				m.response(s)
				return
			}
			m.sent(s)
			switch {
			case s.Relation == rule.Again && m.lastOf(s.Pkt.PSN).Less(m.settled(s.At)):
				c.Failf(rule.Requester, "%s is sent again long after its acknowledgement; nothing expected", c.Rel(s.Pkt.PSN))
			case waiting > 0:
				waiting = 0
				c.Met()
			}
		}}
	},
}

var firstLossQueued = rule.Rule{
	ID: "GB1-RTX-005", Level: rule.Must,
	Title: "The oldest missing packet, which the RACK names as expected, is sent again too, and not left to the timer",
	Source: rule.Source{Ref: "GB1 IV-B; Algorithm 1 with its floor repaired",
		Requirement: "… the receiver generates a packet loss notification signal RACK …, and the " +
			"sender retransmits the dropped packets with a high priority after receiving the RACK."},
	Needs: rule.TapRequester | rule.Attributes, Sees: rule.RequestOut | rule.ResponseIn, Features: features,
	Stimulus: "the first packet of a window lost", BlackBox: engines,
	New: func(c *rule.Context) rule.Check {
		f := left{m: newModel(c)}
		f.m.expired = f.expired
		return rule.Check{Sight: f.sight, Event: f.m.event}
	},
}

// left finds packets that a RACK showed to be missing and that only the timer retransmitted.
type left struct{ m *model }

func (f *left) sight(s *rule.Sight) {
	if s.Point == trace.RequesterIn {
		f.m.response(s)
		return
	}
	if w, ok := f.m.sent(s); ok && w.head {
		f.m.c.Met()
	}
}

func (f *left) expired(at vtime.Time) {
	c := f.m.c
	if l := f.m.list; len(l) > 0 && l[0].head && !c.Port.Lags(l[0].since, at) {
		c.Failf(rule.Requester, "a RACK showed that %s is missing, but only the timer recovers it", c.Rel(l[0].psn))
	}
}

var lengthKept = rule.Rule{
	ID: "GB1-RTX-006", Level: rule.Must, Rests: validity.Sequence,
	Title: "A short last packet that is sent again has its own length",
	Source: rule.Source{Ref: "GB1 Algorithm 2, line 29, repaired", Requirement: "The payload of a retransmission is " +
		"that of the packet; m_mtu, as printed, would lengthen the last packet of a message."},
	Needs: rule.TapRequester, Sees: rule.RequestOut, Features: features,
	Stimulus: "a short last packet lost, with others behind it", BlackBox: engines,
	Each: func(c *rule.Context, s *rule.Sight) {
		t := s.Sent
		if s.Relation != rule.Again || t == nil || c.MTU == 0 || !rule.IsData(t.Opcode) ||
			!t.Opcode.EndsMessage() || t.Len >= c.MTU {
			return
		}
		if s.Pkt.Len != t.Len {
			c.Failf(rule.Requester, "%s had %d bytes and is sent again with %d", c.Rel(s.Pkt.PSN), t.Len, s.Pkt.Len)
		} else {
			c.Met()
		}
	},
}

var oldRACKIgnored = rule.Rule{
	ID: "GB1-RTX-007", Level: rule.MustNot,
	Title: "A RACK that names no newer packet than earlier RACKs causes no retransmission",
	Source: rule.Source{Ref: "GB1 Algorithm 1, line 36",
		Requirement: "if seq > qp.m_crtRACK then qp.m_lastRACK ← qp.m_crtRACK, qp.m_crtRACK ← seq"},
	Needs: rule.TapRequester | rule.Attributes, Sees: rule.RequestOut | rule.ResponseIn, Features: features,
	Stimulus: "a RACK that arrives twice, or after a newer one", BlackBox: engines,
	New: func(c *rule.Context) rule.Check {
		m := newModel(c)
		armed := vtime.Never // arrival of such a RACK
		return rule.Check{Event: m.event, Sight: func(s *rule.Sight) {
			if s.Point == trace.RequesterIn {
				if believed := m.response(s); believed && m.stale && !m.void {
					c.Met()
					armed = s.At
				} else if believed {
					armed = vtime.Never
				}
				return
			}
			// A retransmission that neither the model nor the timer asks for is caused by the old RACK.
			if _, ok := m.sent(s); !ok && !m.void && !s.Pkt.PSN.Less(c.UNA) && armed != vtime.Never &&
				s.Relation == rule.Again && s.At.Sub(armed) <= rule.Patience {
				c.Failf(rule.Requester, "%s is sent again upon a RACK that names nothing new", c.Rel(s.Pkt.PSN))
				armed = vtime.Never
			}
		}}
	},
}
