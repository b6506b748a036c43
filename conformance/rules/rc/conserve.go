package rc

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var conservation = rule.Rule{
	ID: "RC-CNS-001", Level: rule.Must,
	Title: "Every packet delivered was sent, and every packet acknowledged was delivered",
	Source: rule.Source{Ref: "IBTA 9.7", Requirement: "The reliable service neither loses, invents nor repeats " +
		"messages: each arrives exactly once."},
	Needs: rule.Both | rule.Fates, Sees: rule.RequestIn | rule.ResponseOut,
	Stimulus: "any delivery, under random loss", BlackBox: hardware,
	New: func(c *rule.Context) rule.Check {
		return rule.Check{
			Sight: func(s *rule.Sight) {
				if s.Point == trace.ResponderOut || !s.Intact() || s.Rec.Fate == trace.Injected {
					return // packets that the harness injected are not of the requester
				}
				if !c.PositionUnsure() && !s.Pkt.PSN.Less(c.MAX) {
					c.Failf(rule.Channel, "%v %s arrives and was never sent", s.Pkt.Opcode, c.Rel(s.Pkt.PSN))
				} else {
					c.Met()
				}
			},
			End: func(vtime.Time) {
				if c.Started && !c.Fatal && c.EPSN.Less(c.UNA) {
					c.Failf(rule.Responder, "%d packets are acknowledged and were never accepted, from %s on",
						c.UNA.Sub(c.EPSN), c.Rel(c.EPSN))
				}
			},
		}
	},
}

var quiescence = rule.Rule{
	ID: "RC-CNS-002", Level: rule.Must,
	Title: "No request is sent for work that is complete",
	Source: rule.Source{Ref: "IBTA 9.7.3",
		Requirement: "A requester sends request packets for work requests that are not completed."},
	Needs: rule.TapRequester, Sees: rule.RequestOut | rule.ResponseIn,
	Stimulus: "a run that ends, under random loss", BlackBox: hardware,
	New: func(c *rule.Context) rule.Check {
		a := answered{c: c}
		if !c.Offers(rule.Done) {
			return rule.Check{Sight: a.sight}
		}
		var q sendQueue
		idle := vtime.Never // since when nothing is outstanding; Never while something is
		quiet := func(now vtime.Time) bool { return idle != vtime.Never && !c.Port.Lags(idle, now) }
		settle := func(now vtime.Time) {
			if quiet(now) {
				c.Met()
			}
		}
		return rule.Check{
			Sight: func(s *rule.Sight) {
				if s.Point != trace.RequesterOut || !quiet(s.At) {
					a.sight(s)
				} else {
					c.Failf(rule.Requester, "%v %s is sent with nothing outstanding; silence expected", s.Pkt.Opcode, c.Rel(s.Pkt.PSN))
				}
			},
			Event: func(e *trace.Event) {
				switch {
				case !c.Mine(e):
				case e.Kind == trace.Post:
					settle(e.At)
					q.post(e)
					idle = vtime.Never
				case e.Kind == trace.CQE:
					if _, _, ok := q.complete(e.Body.ID); ok && q.outstanding() == 0 {
						idle = e.At
					}
				}
			},
			End: settle,
		}
	},
}

// answered checks that no SEND or WRITE is sent again after its last packet was acknowledged, with or without reports
// of completions. A requester whose pipeline stalls may not know of the acknowledgement.
type answered struct {
	c         *rule.Context
	now, past mark       // the latest sample of UNA, and the one before, older than a packet may wait in the port
	last      vtime.Time // of the latest sight
}

// mark is a sample of UNA.
type mark struct {
	at  vtime.Time
	una psn.PSN
	set bool
}

func (a *answered) sight(s *rule.Sight) {
	c, wait := a.c, a.c.Port.Wait()
	switch {
	case a.now.set && s.At.Sub(a.last) > wait: // nothing has moved UNA since
		a.past, a.now = mark{a.last, c.UNA, c.Started}, mark{s.At, c.UNA, c.Started}
	case !a.now.set || s.At.Sub(a.now.at) > wait:
		a.past, a.now = a.now, mark{s.At, c.UNA, c.Started}
	}
	a.last = s.At
	if s.Point != trace.RequesterOut || s.Relation != rule.Again || s.Sent == nil || c.ByBox || c.GoBackChunk() != 0 ||
		c.Port.Stalls() {
		return
	}
	if o := s.Pkt.Opcode; !o.IsSend() && !o.IsWrite() {
		return
	}
	switch {
	case a.past.set && a.complete(s, a.past.una):
		c.Failf(rule.Requester, "%v %s is sent again, whose message was acknowledged more than %v "+
			"ago; no reason is left", s.Pkt.Opcode, c.Rel(s.Pkt.PSN), wait)
	case c.Offers(rule.Done): // every retransmission can be judged
	case s.Pkt.PSN.Less(c.UNA):
		c.Doubt(c.Rel(s.Pkt.PSN) + " is sent again shortly after its acknowledgement came: it may have waited in the port")
	default:
		c.Met()
	}
}

// complete reports whether the whole message of a retransmission was acknowledged when UNA was una.
func (a *answered) complete(s *rule.Sight, una psn.PSN) bool {
	t := a.c.Sent(una)
	return s.Pkt.PSN.Less(una) && (una == a.c.MAX || t != nil && int(t.Message) > s.Message)
}

var receiveCompletion = rule.Rule{
	ID: "RC-CQE-005", Level: rule.Must,
	Title: "A SEND or WRITE with immediate completes one receive, once, with its byte count and immediate",
	Source: rule.Source{Ref: "IBTA 10.8.6, 11.4.2.1", Requirement: "The receive completion holds the number of bytes " +
		"transferred and the immediate data of the message."},
	Needs: rule.TapResponder | rule.Receives, Sees: rule.Accepts | rule.ResponseOut,
	Minds: rule.Edge | rule.Late | rule.Answer, Stimulus: "SENDs, with a duplicate of a last packet",
	BlackBox: hardware,
	New: func(c *rule.Context) rule.Check {
		r := arrivals{c: c}
		return rule.Check{Sight: r.sight, Event: r.event, End: r.end}
	},
}

// arrivals tracks the messages that arrived whole and must complete a receive.
type arrivals struct {
	c     *rule.Context
	first psn.PSN   // first PSN of the open message
	due   []arrival // in the order of arrival, queueLimit at most
}

type arrival struct {
	event
	first, last psn.PSN
	bytes, imm  uint32
	hasImm      bool
}

func (a *arrivals) sight(s *rule.Sight) {
	p := s.Pkt
	a.settle()
	if s.Point == trace.ResponderOut || !s.Legal || a.c.Fatal {
		return
	}
	if p.Opcode.StartsMessage() {
		a.first = p.PSN
	}
	if p.Opcode.EndsMessage() && (p.Opcode.IsSend() || p.Opcode.HasImm()) && len(a.due) < queueLimit {
		a.due = append(a.due, arrival{event: seen(s), first: a.first, last: p.PSN,
			bytes: uint32(a.c.Filled(p) + p.Len), imm: p.Imm, hasImm: p.Opcode.HasImm()})
	}
}

// settle removes the messages that were not accepted after all: an RNR NAK refused them, or the responder did not keep
// them until their turn. They are sent again, the first of them perhaps only from its last packet on, which alone needs
// a receive in a WRITE with immediate.
func (a *arrivals) settle() {
	for i := range a.due {
		if m := &a.due[i]; a.c.EPSN.LessEq(m.last) {
			a.first = m.first
			a.due = a.due[:i]
			return
		}
	}
}

func (a *arrivals) event(e *trace.Event) {
	if e.Kind != trace.Recv || a.c.Mine(e) || e.Body.Status == engine.StatusFlushed {
		return
	}
	a.settle()
	if len(a.due) == 0 {
		if e.Body.Status == engine.StatusSuccess { // a refused message ends its receive in error
			a.c.Failf(rule.Responder, "receive wr=%d completes without a message", e.Body.ID)
		}
		return
	}
	m := a.due[0]
	a.due = a.due[:copy(a.due, a.due[1:])]
	switch {
	case e.Body.Status != engine.StatusSuccess:
	case e.Body.Len != m.bytes:
		a.c.Failf(rule.Responder, "receive wr=%d has %d bytes, %d arrived", e.Body.ID, e.Body.Len, m.bytes)
	case m.hasImm && e.Body.Imm != m.imm:
		a.c.Failf(rule.Responder, "receive wr=%d has immediate %#x, %#x arrived", e.Body.ID, e.Body.Imm, m.imm)
	default:
		a.c.Met()
	}
}

func (a *arrivals) end(at vtime.Time) {
	a.settle()
	if len(a.due) > 0 && !a.c.Fatal && a.c.Late(rule.Responder, a.due[0].at, rule.Patience, at) {
		a.c.FailAt(a.due[0].at, a.due[0].record, rule.Responder, "the message that ends here completes no receive")
	}
}
