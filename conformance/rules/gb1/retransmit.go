package gb1

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

func oneForOne() rule.Rule {
	return rule.Rule{
		ID: "GB1-RTX-001", Level: rule.Must,
		Title: "An isolated loss costs one retransmission, of the lost packet, and nothing else",
		Source: rule.Source{Ref: "GB1 IV-B, Fig. 7", Requirement: "After receiving RACK2, the sender pushes packet 2 into the retransmission queue and resends " +
			"packet 2 with high priority."},
		Needs: rule.Both | rule.Fates, Sees: rule.Requests | rule.Responses, Features: features,
		Stimulus: "one lost request in a flow of writes", BlackBox: engines,
		New: func(c *rule.Context) rule.Check { return newEpisode(c, false).check() },
	}
}

func gapForGap() rule.Rule {
	return rule.Rule{
		ID: "GB1-RTX-002", Level: rule.Must,
		Title: "The loss of n requests in a row makes exactly these n be sent again, in ascending order",
		Source: rule.Source{Ref: "GB1 IV-C3, Algorithm 1", Requirement: "If a RACK is received, the sender senses that a packet loss has occurred and passes " +
			"the unreceived packets to the retransQueue."},
		Needs: rule.Both | rule.Fates, Sees: rule.Requests | rule.Responses, Features: features,
		Stimulus: "several requests lost in a row", BlackBox: engines,
		New: func(c *rule.Context) rule.Check { return newEpisode(c, true).check() },
	}
}

// episode follows one gap, from the loss of its first packet until what was in flight when it was mended has been
// acknowledged. Whatever else goes wrong on the way ends it without a judgement, and until all that was in flight then
// has been acknowledged too, no other begins.
type episode struct {
	c     *rule.Context
	many  bool     // judge gaps of several packets, not of one
	order [2]order // of requests and of responses
	busy  bool     // something went wrong before,
	calm  psn.PSN  // and is over here

	open       bool
	first, end psn.PSN // [first, end) is lost
	sent       int     // of them, sent again
	begun      bool    // one has been
	until      psn.PSN // what was in flight then
}

func newEpisode(c *rule.Context, many bool) *episode { return &episode{c: c, many: many} }

func (e *episode) check() rule.Check {
	return rule.Check{Sight: e.sight, Event: e.event, End: func(vtime.Time) { e.finish() }}
}

func (e *episode) sight(s *rule.Sight) {
	c := e.c
	e.finish()
	if e.mended(s.Pkt) {
		e.abandon()
	}
	e.busy = e.busy && c.UNA.Less(e.calm)
	disturbed := s.Rec.Fate == trace.Injected
	switch s.Point {
	case trace.RequesterOut:
		disturbed = e.order[0].broken(s.Rec) || disturbed
		e.request(s)
	case trace.ResponderIn:
		disturbed = disturbed || s.Rec.Copy || s.Relation == rule.Ahead && s.Pkt.PSN.Sub(c.EPSN) >= reach(c)
	case trace.ResponderOut:
		disturbed = e.order[1].broken(s.Rec) || disturbed || s.Rec.Lost() || s.Pkt.AETH.Syndrome.IsRNR()
	default:
		disturbed = disturbed || s.Pkt.Opcode.IsReadResponse() || c.OutstandingReads() > 0
	}
	if disturbed {
		e.abandon()
	}
}

// mended reports whether something lost is acknowledged, or named by a RACK, without being sent again: a shim below, which codes,
// repaired it.
func (e *episode) mended(p *roce.Packet) bool {
	next := e.first.Add(e.sent)
	named := isRACK(p) && p.SACK.PSN.In(next, e.end)
	return e.open && (named || next.Less(e.end) && next.Less(e.c.UNA))
}

// abandon ends the episode without a judgement.
func (e *episode) abandon() { e.open, e.busy, e.calm = false, true, e.c.MAX }

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
			*e = episode{c: c, many: e.many, order: e.order, open: true, first: p, end: p.Next()}
		}
	case gone && s.Relation == rule.First && p == e.end && !e.begun && rule.IsData(s.Pkt.Opcode):
		e.end = p.Next()
	case gone:
		e.abandon()
		e.calm = psn.Max(e.calm, p.Next())
	case s.Relation == rule.Again:
		e.again(p)
	}
}

// again takes a retransmission that the link delivers.
func (e *episode) again(p psn.PSN) {
	c := e.c
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
		c.Failf(rule.Requester, "%s is sent again, the next that is missing is %s", c.Rel(p), c.Rel(want))
	default:
		c.Failf(rule.Requester, "%s is sent again, and was not lost; nothing expected", c.Rel(p))
	}
	e.abandon()
}

// finish judges an episode that has come to its end.
func (e *episode) finish() {
	if !e.open || !e.begun || e.c.UNA.Less(e.until) {
		return
	}
	e.open = false
	if e.many == (e.end.Sub(e.first) > 1) && e.sent == e.end.Sub(e.first) {
		e.c.Met()
	}
}

// event ends the episode when the timer takes over, as it must when the last packets are lost.
func (e *episode) event(ev *trace.Event) {
	if ev.Kind == trace.Timeout && e.c.Mine(ev) {
		e.abandon()
	}
}

func resentFirst() rule.Rule {
	return rule.Rule{
		ID: "GB1-RTX-003", Level: rule.Must,
		Title: "What a RACK shows to be missing is sent again before any new data",
		Source: rule.Source{Ref: "GB1 IV-C3, Algorithm 2", Requirement: "… the function that obtains the next packet to be sent must be modified synchronously, " +
			"and the packets in the retransQueue are preferentially sent."},
		Needs: rule.TapRequester, Sees: rule.RequestOut | rule.ResponseIn, Features: features,
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
					c.Failf(rule.Requester, "%s is sent for the first time, while %s waits to be sent again", c.Rel(s.Pkt.PSN), c.Rel(m.list[0].psn))
					m.list = m.list[1:]
				case s.Relation == rule.First && len(m.list) == 0 && served:
					served = false
					c.Met()
				}
			}}
		},
	}
}

func acknowledgedSkipped() rule.Rule {
	return rule.Rule{
		ID: "GB1-RTX-004", Level: rule.Must,
		Title: "What has been acknowledged by the time its turn in the queue comes is not sent again",
		Source: rule.Source{Ref: "GB1 Algorithm 2, lines 16 to 19", Requirement: "while seqOfPkg < qp.snd_una and not qp.retransQueue.empty() do seqOfPkg ← " +
			"qp.retransQueue.front()"},
		Needs: rule.TapRequester, Sees: rule.RequestOut | rule.ResponseIn, Features: features,
		Stimulus: "an acknowledgement of packets that a RACK had shown to be missing, before they are sent again", BlackBox: engines,
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
				case s.Relation == rule.Again && s.Pkt.PSN.Less(m.settled(s.At)):
					c.Failf(rule.Requester, "%s is sent again long after its acknowledgement; nothing expected", c.Rel(s.Pkt.PSN))
				case waiting > 0:
					waiting = 0
					c.Met()
				}
			}}
		},
	}
}

func firstLossQueued() rule.Rule {
	return rule.Rule{
		ID: "GB1-RTX-005", Level: rule.Must,
		Title: "The oldest missing packet, which the RACK names as expected, is sent again too, and not left to the timer",
		Source: rule.Source{Ref: "GB1 IV-B; Algorithm 1 with its floor repaired", Requirement: "… the receiver generates a packet loss notification signal RACK …, and the " +
			"sender retransmits the dropped packets with a high priority after receiving the RACK."},
		Needs: rule.TapRequester | rule.Completions, Sees: rule.RequestOut | rule.ResponseIn, Features: features,
		Stimulus: "the first packet of a window lost", BlackBox: engines,
		New: func(c *rule.Context) rule.Check {
			f := left{m: newModel(c)}
			return rule.Check{Sight: f.sight, Event: f.event}
		},
	}
}

// left finds what a RACK has shown to be missing and the timer had to bring back.
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

func (f *left) event(e *trace.Event) {
	c := f.m.c
	if e.Kind == trace.Timeout && c.Mine(e) {
		f.m.settle()
		if l := f.m.list; len(l) > 0 && l[0].head && !c.Port.Lags(l[0].since, e.At) {
			c.Failf(rule.Requester, "%s, which a RACK has shown to be missing, is left to the timer", c.Rel(l[0].psn))
		}
	}
	f.m.event(e)
}

func lengthKept() rule.Rule {
	return rule.Rule{
		ID: "GB1-RTX-006", Level: rule.Must, Rests: validity.Sequence,
		Title: "A short last packet that is sent again has its own length",
		Source: rule.Source{Ref: "GB1 Algorithm 2, line 29, repaired", Requirement: "The payload of a retransmission is that of the packet; m_mtu, as printed, would " +
			"lengthen the last packet of a message."},
		Needs: rule.TapRequester, Sees: rule.RequestOut, Features: features,
		Stimulus: "a short last packet lost, with others behind it", BlackBox: engines,
		New: func(c *rule.Context) rule.Check {
			return rule.Check{Sight: func(s *rule.Sight) {
				t := s.Sent
				if s.Relation != rule.Again || t == nil || c.MTU == 0 || !rule.IsData(t.Opcode) || !t.Opcode.EndsMessage() || t.Len >= c.MTU {
					return
				}
				if s.Pkt.Len != t.Len {
					c.Failf(rule.Requester, "%s had %d bytes and is sent again with %d", c.Rel(s.Pkt.PSN), t.Len, s.Pkt.Len)
				} else {
					c.Met()
				}
			}}
		},
	}
}

func oldRACKIgnored() rule.Rule {
	return rule.Rule{
		ID: "GB1-RTX-007", Level: rule.MustNot,
		Title: "A RACK that names no newer packet than the RACKs before it makes nothing be sent again",
		Source: rule.Source{Ref: "GB1 Algorithm 1, line 36", Requirement: "if seq > qp.m_crtRACK then qp.m_lastRACK ← qp.m_crtRACK, qp.m_crtRACK ← " +
			"seq"},
		Needs: rule.TapRequester, Sees: rule.RequestOut | rule.ResponseIn, Features: features,
		Stimulus: "a RACK that comes twice, or after a newer one", BlackBox: engines,
		New: func(c *rule.Context) rule.Check {
			m := newModel(c)
			armed := vtime.Never // when such a RACK came
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
				// What the model does not want, and the timer has not asked for, is the old RACK's doing.
				if _, ok := m.sent(s); !ok && !m.void && !s.Pkt.PSN.Less(c.UNA) && armed != vtime.Never && s.Relation == rule.Again && s.At.Sub(armed) <= rule.Patience {
					c.Failf(rule.Requester, "%s is sent again upon a RACK that names nothing new", c.Rel(s.Pkt.PSN))
					armed = vtime.Never
				}
			}}
		},
	}
}

func rackLost() rule.Rule {
	return rule.Rule{
		ID: "GB1-RTX-008", Level: rule.Must,
		Title: "When a RACK is lost the next one covers its gap, and what is sent again in excess is acknowledged as a duplicate",
		Source: rule.Source{Ref: "GB1 Algorithm 1, lines 39 to 47", Requirement: "Everything between the last RACK and this one is put into the " +
			"retransmission queue."},
		Needs: rule.Both | rule.Fates | rule.Completions, Sees: rule.RequestOut | rule.Accepts | rule.Responses, Features: features,
		Stimulus: "a lost request, and the loss of its first RACK", BlackBox: engines,
		New: func(c *rule.Context) rule.Check {
			r := covered{c: c, m: newModel(c), answer: c.Owes(rule.Responder, "%s came again and is not answered; an ACK expected")}
			r.answer.Unless = func(rule.Debt) bool { return c.RNRWait }
			r.answer.Prompt = true
			return rule.Check{Sight: r.sight, Event: r.event}
		},
	}
}

// covered follows the packet that a lost RACK asked for, and the duplicates that its successor brings about.
type covered struct {
	c       *rule.Context
	m       *model
	waiting bool // a RACK of missing was lost, and missing has not been sent again
	missing psn.PSN
	next    bool // another RACK has come since
	at      vtime.Time
	record  uint64

	answer *rule.Obligation // to a duplicate
	told   bool             // something has been acknowledged,
	acked  psn.PSN          // up to here: the first acknowledgement of what is behind waits for the data of READs before it
}

func (r *covered) sight(s *rule.Sight) {
	c, p := r.c, s.Pkt
	switch s.Point {
	case trace.ResponderOut:
		if isRACK(p) && s.Rec.Lost() && !r.waiting && !p.PSN.Less(c.UNA) && !r.m.covers(p.PSN) {
			r.waiting, r.next, r.missing, r.at, r.record = true, false, p.PSN, s.At, s.Index
		}
		if last, ok := rule.Acknowledged(p); ok {
			r.acknowledged(last)
		}
		if p.AETH.Syndrome.IsRNR() {
			r.answer.Excuse(func(d rule.Debt) bool { return p.PSN.LessEq(d.PSN) }) // it was not a duplicate: nothing from the packet on that found no receive was taken
		}
	case trace.RequesterIn:
		r.next = r.m.response(s) && r.waiting && r.missing.LessEq(p.PSN) || r.next
	case trace.RequesterOut:
		r.m.sent(s)
		if r.waiting && p.PSN == r.missing && s.Relation == rule.Again {
			if r.next {
				c.Met()
			}
			r.waiting = false
		}
	default:
		if s.Relation == rule.Duplicate && rule.IsData(p.Opcode) && p.AckReq && !r.answer.Owed() && !c.Fatal && r.told && p.PSN.LessEq(r.acked) {
			r.answer.Arise(s, p.PSN)
		}
	}
	r.waiting = r.waiting && !r.missing.Less(c.UNA)
}

// acknowledged takes an acknowledgement that leaves.
func (r *covered) acknowledged(last psn.PSN) {
	if !r.told || r.acked.Less(last) {
		r.told, r.acked = true, last
	}
	r.answer.Excuse(func(d rule.Debt) bool { return d.PSN.LessEq(last) })
}

// covers reports whether a RACK has already asked for p.
func (m *model) covers(p psn.PSN) bool { return p.LessEq(m.crt) }

// event notices that the timer had to bring the packet back.
func (r *covered) event(e *trace.Event) {
	if e.Kind == trace.Timeout && r.c.Mine(e) {
		if r.waiting && r.next && !r.m.void && !r.c.Port.Lags(r.at, e.At) {
			r.c.FailAt(r.at, r.record, rule.Requester, r.c.Rel(r.missing)+" is left to the timer, although a RACK after the one lost covers it")
		}
		r.waiting = false
	}
	r.m.event(e)
}
