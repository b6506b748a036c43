package rc

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var queueDepth = rule.Rule{
	ID: "RC-WIN-001", Level: rule.MustNot, Rests: validity.Sequence,
	Title: "Outstanding messages never exceed the depth of the send queue",
	Source: rule.Source{Ref: "NTT 2.2; IBTA 10.8.2", Requirement: "The number of work requests outstanding on a send " +
		"queue is at most the depth given when the QP was created."},
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

var readDepth = rule.Rule{
	ID: "RC-READ-004", Level: rule.Must, Rests: validity.Sequence,
	Title: "READs and atomics outstanding never exceed the negotiated depth",
	Source: rule.Source{Ref: "IBTA 9.4.4, 9.7.3.2", Requirement: "A requester has no more RDMA READs and atomics " +
		"outstanding than the responder has resources for, as negotiated at connection time."},
	Needs: rule.TapRequester | rule.Attributes, Sees: rule.RequestOut, Minds: rule.Fetch,
	Stimulus: "more READs posted than the depth", BlackBox: hardware,
	Each: func(c *rule.Context, s *rule.Sight) {
		o := s.Pkt.Opcode
		if s.Relation != rule.First || !o.IsRead() && !o.IsAtomic() || c.Attr.MaxRdAtomic == 0 {
			return
		}
		switch n := c.OutstandingReads() + 1; {
		case n > c.Attr.MaxRdAtomic:
			c.Failf(rule.Requester, "%d READs and atomics are outstanding, %d are allowed", n, c.Attr.MaxRdAtomic)
		case n == c.Attr.MaxRdAtomic:
			c.Met()
		}
	},
}

var queueStall = rule.Rule{
	ID: "RC-WIN-002", Level: rule.Must, Rests: validity.Path,
	Title: "With queue depth q and messages of one packet the requester stalls after q of them, and resumes on the ACK",
	Source: rule.Source{Ref: "NTT 2.2, Fig. 1", Requirement: "With a queue depth of q the sender stops after q " +
		"messages and sends the next one when an acknowledgement arrives."},
	Needs: rule.TapRequester | rule.Attributes, Sees: rule.RequestOut | rule.ResponseIn,
	Stimulus: "a queue shorter than the work, messages of one packet", BlackBox: hardware,
	New: func(c *rule.Context) rule.Check {
		s := stall{c: c, freed: vtime.Never}
		return rule.Check{Sight: s.sight, Event: s.event}
	},
}

// stall tracks a full send queue until the next message.
type stall struct {
	c           *rule.Context
	m           rule.Outstanding
	long        bool       // a message had several packets: the rule does not apply
	full        bool       // the queue was full after the latest message
	freed       vtime.Time // when a message was first answered since; Never before
	reply       vtime.Time // arrival of the latest response
	posted      vtime.Time // the latest post
	readsFull   bool       // the READs and atomics outstanding reached their limit
	readsFreed  vtime.Time // when one more was allowed again
	flightFull  bool       // the packets in flight reached the scheme's limit
	flightFreed vtime.Time // when one more was allowed again
}

func (w *stall) sight(s *rule.Sight) {
	c := w.c
	if w.long {
		return
	}
	w.m.Answered(c)
	if w.full && w.freed == vtime.Never && w.m.Count() < c.Attr.QueueDepth {
		w.freed = w.reply // the state changes after a sight, so the previous response freed it
	}
	if was := w.readsFull; c.Attr.MaxRdAtomic > 0 {
		if w.readsFull = c.OutstandingReads() >= c.Attr.MaxRdAtomic; was && !w.readsFull {
			w.readsFreed = w.reply
		}
	}
	if limit := c.FlightLimit(); limit > 0 {
		was := w.flightFull
		if w.flightFull = c.MAX.Sub(c.UNA) >= limit; was && !w.flightFull {
			w.flightFreed = w.reply
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

// resume judges the message that follows a stall. A READ also waits until fewer READs are outstanding (RC-READ-004).
// Any message also waits for an acknowledgement while the packets in flight are at their limit, as when READ data
// arrived and their acknowledgement was lost.
func (w *stall) resume(s *rule.Sight) {
	c, o := w.c, s.Pkt.Opcode
	able := max(w.freed, w.posted, w.flightFreed)
	if o.IsRead() || o.IsAtomic() {
		able = max(able, w.readsFreed)
	}
	switch {
	case w.freed == vtime.Never:
		c.Failf(rule.Requester, "%s is sent while %d messages are outstanding", c.Rel(s.Pkt.PSN), w.m.Count())
	case !c.Late(rule.Requester, able, rule.Patience, s.At):
		c.Met()
	case c.Offers(rule.Completions): // otherwise it is not known whether work was posted
		c.Failf(rule.Requester, "%s is sent %v after the acknowledgement that made room", c.Rel(s.Pkt.PSN), s.At.Sub(able))
	}
}

func (w *stall) event(e *trace.Event) {
	if e.Kind == trace.Post && w.c.Mine(e) {
		w.posted = e.At
	}
}

// sendQueue is the requester's send queue as its posts, requests and completions show it. Each work request gets its
// last PSN from the wire, so that its completion can be checked.
type sendQueue struct {
	posted []wqe
	head   int // index of the oldest not completed
	unsent int // index of the oldest whose last packet was not sent; at least head
}

// wqe is one posted work request.
type wqe struct {
	id   uint64
	op   engine.Op
	last psn.PSN // if sent
	sent bool    // its last packet was sent
}

// queueLimit bounds the work requests remembered; later posts are not tracked.
const queueLimit = 1 << 18

func (q *sendQueue) post(e *trace.Event) {
	if q.head > 1024 && q.head > len(q.posted)/2 {
		q.posted = q.posted[:copy(q.posted, q.posted[q.head:])]
		q.unsent -= q.head
		q.head = 0
	}
	if len(q.posted) < queueLimit {
		q.posted = append(q.posted, wqe{id: e.Body.ID, op: e.Body.Op})
	}
}

// request gives the oldest unsent work request its last PSN when the last packet of a message is first transmitted.
func (q *sendQueue) request(c *rule.Context, s *rule.Sight) {
	if s.Relation != rule.First || !s.Pkt.Opcode.EndsMessage() || q.unsent >= len(q.posted) {
		return
	}
	w := &q.posted[q.unsent]
	w.last, w.sent = s.Pkt.PSN.Add(max(1, c.Span(s.Pkt))-1), true
	q.unsent++
}

// complete removes work request id, and the skipped ones before it.
func (q *sendQueue) complete(id uint64) (w wqe, skipped int, ok bool) {
	for i := q.head; i < len(q.posted); i++ {
		if q.posted[i].id == id {
			w, skipped = q.posted[i], i-q.head
			q.head = i + 1
			q.unsent = max(q.unsent, q.head)
			return w, skipped, true
		}
	}
	return wqe{}, 0, false
}

// outstanding returns the number of work requests posted and not completed.
func (q *sendQueue) outstanding() int { return len(q.posted) - q.head }

// oldest returns the oldest outstanding work request; there must be one.
func (q *sendQueue) oldest() wqe { return q.posted[q.head] }
