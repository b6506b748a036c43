package rc

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// messages are the ends of the messages begun and not acknowledged, oldest first.
type messages struct {
	last  []psn.PSN
	begun bool // the newest has not ended
}

// answered drops the oldest messages that have been answered.
func (m *messages) answered(c *rule.Context) {
	n := 0
	for n < len(m.last) && c.Answered(m.last[n]) {
		n++
	}
	if n > 0 {
		m.last = m.last[:copy(m.last, m.last[n:])]
	}
}

// request takes the first transmission of a request.
func (m *messages) request(c *rule.Context, s *rule.Sight) {
	if s.Pkt.Opcode.StartsMessage() {
		m.begun = true
	}
	if s.Pkt.Opcode.EndsMessage() && len(m.last) < queueLimit {
		m.last = append(m.last, s.Pkt.PSN.Add(max(1, c.Span(s.Pkt))-1))
		m.begun = false
	}
}

// outstanding counts them, the open one included.
func (m *messages) outstanding() int {
	if m.begun {
		return len(m.last) + 1
	}
	return len(m.last)
}

func queueDepth() rule.Rule {
	return rule.Rule{
		ID: "RC-WIN-001", Level: rule.MustNot,
		Title: "Outstanding messages never exceed the depth of the send queue",
		Source: rule.Source{Ref: "NTT 2.2; IBTA 10.8.2", Quote: "The number of work requests outstanding on a send queue is at most " +
			"the depth given when the QP was created."},
		Needs: rule.TapRequester | rule.Attributes, Sees: rule.RequestOut, Stimulus: "a queue shorter than the work", BlackBox: hardware,
		New: func(c *rule.Context) rule.Check {
			var m messages
			return rule.Check{Sight: func(s *rule.Sight) {
				if s.Relation != rule.First || c.Attr.QueueDepth == 0 {
					return
				}
				m.answered(c)
				m.request(c, s)
				switch n := m.outstanding(); {
				case n > c.Attr.QueueDepth && s.Pkt.Opcode.StartsMessage():
					c.Failf(rule.Requester, "%d messages are outstanding, the queue holds %d", n, c.Attr.QueueDepth)
				case n == c.Attr.QueueDepth:
					c.Met()
				}
			}}
		},
	}
}

func queueStall() rule.Rule {
	return rule.Rule{
		ID: "RC-WIN-002", Level: rule.Must,
		Title: "With queue depth q and messages of one packet the requester stalls after q of them, and resumes on the ACK",
		Source: rule.Source{Ref: "NTT 2.2, Fig. 1", Quote: "With a queue depth of q the sender stops after q messages and sends the next " +
			"one when an acknowledgement arrives."},
		Needs: rule.TapRequester | rule.Attributes, Sees: rule.RequestOut | rule.ResponseIn,
		Stimulus: "a queue shorter than the work, messages of one packet", BlackBox: hardware,
		New: func(c *rule.Context) rule.Check {
			s := stall{c: c, freed: vtime.Never}
			return rule.Check{Sight: s.sight, Event: s.event}
		},
	}
}

// stall follows a full queue until its next message.
type stall struct {
	c      *rule.Context
	m      messages
	long   bool       // a message had several packets: the rule does not apply
	full   bool       // the queue was full after the latest message
	una    psn.PSN    // UNA when it filled
	freed  vtime.Time // when UNA first moved since
	reply  vtime.Time // latest response
	posted vtime.Time // latest post
}

func (w *stall) sight(s *rule.Sight) {
	c := w.c
	if w.full && w.freed == vtime.Never && c.UNA != w.una {
		w.freed = w.reply // the state moves after a sight, so it was the response before this one
	}
	if s.Point == trace.RequesterIn {
		w.reply = s.At
		return
	}
	if s.Relation != rule.First || c.Attr.QueueDepth == 0 || w.long {
		return
	}
	if w.long = !s.Pkt.Opcode.IsOnly(); w.long {
		return
	}
	w.m.answered(c)
	if w.full {
		w.resume(s)
	}
	w.m.request(c, s)
	w.full, w.una, w.freed = w.m.outstanding() >= c.Attr.QueueDepth, c.UNA, vtime.Never
}

// resume judges the message that follows a stall.
func (w *stall) resume(s *rule.Sight) {
	c := w.c
	switch {
	case w.freed == vtime.Never:
		c.Failf(rule.Requester, "%s is sent while %d messages are outstanding", c.Rel(s.Pkt.PSN), w.m.outstanding())
	case s.At.Sub(max(w.freed, w.posted)) > patience:
		c.Failf(rule.Requester, "%s is sent %v after the acknowledgement that made room", c.Rel(s.Pkt.PSN), s.At.Sub(w.freed))
	default:
		c.Met()
	}
}

func (w *stall) event(e *trace.Event) {
	if e.Kind == trace.Post && w.c.Mine(e) {
		w.posted = e.At
	}
}
