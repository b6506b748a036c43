package rc

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

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
	len  uint32
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
		q.posted = append(q.posted, wqe{id: e.Body.ID, op: e.Body.Op, len: e.Len})
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
