package rc

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

func queueDepth() rule.Rule {
	return rule.Rule{
		ID: "RC-WIN-001", Level: rule.MustNot, Rests: validity.Sequence,
		Title: "Outstanding messages never exceed the depth of the send queue",
		Source: rule.Source{Ref: "NTT 2.2; IBTA 10.8.2",
			Requirement: "The number of work requests outstanding on a send queue is at most " +
				"the depth given when the QP was created."},
		Needs: rule.TapRequester | rule.Attributes, Sees: rule.RequestOut, Stimulus: "a queue shorter than the work",
		BlackBox: hardware,
		New: func(c *rule.Context) rule.Check {
			var m rule.Outstanding
			return rule.Check{Sight: func(s *rule.Sight) {
				if s.Relation != rule.First || c.Attr.QueueDepth == 0 {
					return
				}
				m.Answered(c)
				m.Request(c, s)
				switch n := m.Count(); {
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
		ID: "RC-WIN-002", Level: rule.Must, Rests: validity.Path,
		Title: "With queue depth q and messages of one packet the requester stalls after q of them, " +
			"and resumes on the ACK",
		Source: rule.Source{Ref: "NTT 2.2, Fig. 1", Requirement: "With a queue depth of q the sender stops after q " +
			"messages and sends the next one when an acknowledgement arrives."},
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
	m      rule.Outstanding
	long   bool       // a message had several packets: the rule does not apply
	full   bool       // the queue was full after the latest message
	freed  vtime.Time // when the first message has been answered since
	reply  vtime.Time // latest response
	posted vtime.Time // latest post
	narrow bool       // as many READs and atomics were outstanding as may be
	read   vtime.Time // when there was room for one again
	tight  bool       // as many packets were in flight as the scheme was told to allow
	flight vtime.Time // when there was room for one more again
}

func (w *stall) sight(s *rule.Sight) {
	c := w.c
	if w.long {
		return
	}
	w.m.Answered(c)
	if w.full && w.freed == vtime.Never && w.m.Count() < c.Attr.QueueDepth {
		w.freed = w.reply // the state moves after a sight, so it was the response before this one
	}
	if was := w.narrow; c.Attr.MaxRdAtomic > 0 {
		if w.narrow = c.OutstandingReads() >= c.Attr.MaxRdAtomic; was && !w.narrow {
			w.read = w.reply
		}
	}
	if limit := c.FlightLimit(); limit > 0 {
		was := w.tight
		if w.tight = c.MAX.Sub(c.UNA) >= limit; was && !w.tight {
			w.flight = w.reply
		}
	}
	if s.Point == trace.RequesterIn {
		w.reply = s.At
		return
	}
	if s.Relation != rule.First || c.Attr.QueueDepth == 0 {
		return
	}
	if w.long = !s.Pkt.Opcode.IsOnly(); w.long {
		return
	}
	if w.full {
		w.resume(s)
	}
	w.m.Request(c, s)
	w.full, w.freed = w.m.Count() >= c.Attr.QueueDepth, vtime.Never
}

// resume judges the message that follows a stall. A READ waits for those before it, too, when no more may be
// outstanding (RC-READ-004); and any message waits for a packet to be acknowledged when no more may be in flight, as
// where READs are acknowledged before their data come, or the data are there and the acknowledgement was lost.
func (w *stall) resume(s *rule.Sight) {
	c, o := w.c, s.Pkt.Opcode
	able := max(w.freed, w.posted, w.flight)
	if o.IsRead() || o.IsAtomic() {
		able = max(able, w.read)
	}
	switch {
	case w.freed == vtime.Never:
		c.Failf(rule.Requester, "%s is sent while %d messages are outstanding", c.Rel(s.Pkt.PSN), w.m.Count())
	case !c.Late(rule.Requester, able, rule.Patience, s.At):
		c.Met()
	case c.Offers(rule.Completions): // else nobody knows whether there was work to go on with
		c.Failf(rule.Requester, "%s is sent %v after the acknowledgement that made room",
			c.Rel(s.Pkt.PSN), s.At.Sub(able))
	}
}

func (w *stall) event(e *trace.Event) {
	if e.Kind == trace.Post && w.c.Mine(e) {
		w.posted = e.At
	}
}
