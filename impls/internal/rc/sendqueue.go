package rc

import (
	"sort"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// Request is a work request in the send queue. Its packets are represented by the range of their PSNs only.
type Request struct {
	First, Last psn.PSN // PSNs of the first and last request packet; set when the request begins
	Packets     int     // data packets: request packets, or for a READ or atomic response packets
	SN          uint32  // number among the requests that take a receive, or among READs and atomics; modulo 2^24
	engine.WorkRequest
	Data psn.PSN // PSN of the first response to a READ or atomic
}

// Fetches reports whether the request is a READ or an atomic, whose responses carry data and have their own PSN space.
func (w *Request) Fetches() bool { return w.Op >= engine.OpRead }

// psns returns the number of request PSNs: one for a READ, because its responses have their own PSN space.
func (w *Request) psns() int {
	if w.Fetches() {
		return 1
	}
	return w.Packets
}

// takesReceive reports whether the operation uses a receive of the peer.
func (w *Request) takesReceive() bool { return w.Op != engine.OpWrite && !w.Fetches() }

// Done reports whether a begun request is finished, given that all request PSNs before una are acknowledged and all
// responses before data are in memory. Requests complete in posting order, so an acknowledged WRITE waits for an
// earlier READ (IBTA 9.7.7).
func (w *Request) Done(una, data psn.PSN) bool {
	return w.Last.Less(una) && (!w.Fetches() || w.Data.Add(w.Packets).LessEq(data))
}

// SendQueue holds the work requests that have not completed, oldest first.
type SendQueue struct {
	ring.Ring[Request]
	Begun int // requests that have PSNs: those with an index below Begun; 0 <= Begun <= Len()
	Reads int // READs and atomics with an index below Begun

	recvSN uint32  // number of the next request that takes a receive; modulo 2^24
	readSN uint32  // number of the next READ or atomic; modulo 2^24
	data   psn.PSN // PSN of the first response to the next READ or atomic

	refused   engine.Status // status of the request that the peer refused; StatusSuccess if there is none
	refusedAt psn.PSN       // a PSN of the refused request
}

// NewSendQueue returns a queue whose READ responses begin with the PSN data.
func NewSendQueue(data psn.PSN) SendQueue { return SendQueue{data: data} }

// Next returns the request that the packet with PSN next belongs to, where next is the lowest PSN never sent, or nil if
// no packet can be sent. It begins the next request when all packets of its predecessor have been sent. The number of
// outstanding READs and atomics is limited to maxReads, which the peer can serve, and their response PSNs to a span
// below 2^23 from expected on. Requests after one that waits also wait, because requests are sent in posting order
// (IBTA 9.4.4). After a refusal no new packet is sent.
func (q *SendQueue) Next(next, expected psn.PSN, maxReads int) *Request {
	if q.refused != engine.StatusSuccess {
		return nil
	}
	if q.Begun > 0 {
		if w := q.At(q.Begun - 1); next.LessEq(w.Last) {
			return w
		}
	}
	if q.Begun == q.Len() {
		return nil
	}
	w := q.At(q.Begun)
	if w.Fetches() && (q.Reads >= maxReads || q.data.Sub(expected)+w.Packets >= psn.Half) {
		return nil
	}
	q.begin(w, next)
	return w
}

// begin assigns the next request its PSNs and its number.
func (q *SendQueue) begin(w *Request, from psn.PSN) {
	w.First, w.Last = from, from.Add(w.psns()-1)
	switch {
	case w.Fetches():
		w.SN, w.Data = q.readSN, q.data
		q.readSN = (q.readSN + 1) & psn.Mask
		q.data = q.data.Add(w.Packets)
		q.Reads++
	case w.takesReceive():
		w.SN = q.recvSN
		q.recvSN = (q.recvSN + 1) & psn.Mask
	}
	q.Begun++
}

// Owner returns the begun request that p belongs to; p was sent and is not acknowledged.
func (q *SendQueue) Owner(p psn.PSN) *Request {
	return q.At(sort.Search(q.Begun-1, func(i int) bool { return p.LessEq(q.At(i).Last) }))
}

// Fetch returns the begun READ or atomic that response p belongs to, or nil.
func (q *SendQueue) Fetch(p psn.PSN) *Request {
	for i, left := 0, q.Reads; left > 0; i++ {
		if w := q.At(i); w.Fetches() {
			if d := p.Sub(w.Data); d >= 0 && d < w.Packets {
				return w
			}
			left--
		}
	}
	return nil
}

// Complete ends the oldest request. An error is signalled even if the request is unsignalled (IBTA 10.7.3).
func (q *SendQueue) Complete(s engine.Status, events *ring.Ring[engine.Event]) {
	w := q.At(0)
	if !w.Unsignal || s != engine.StatusSuccess {
		events.Push(engine.Event{Kind: engine.CQE, Status: s, Op: w.Op, ID: w.ID, PSN: w.Last})
	}
	if w.Fetches() {
		q.Reads--
	}
	q.Drop()
	q.Begun--
}

// Flush ends all requests in order. Requests without PSNs get those that they would have had from next on, so that
// their completions are in PSN order too.
func (q *SendQueue) Flush(next psn.PSN, events *ring.Ring[engine.Event]) {
	for q.Len() > 0 {
		w := q.At(0)
		if q.Begun == 0 {
			q.begin(w, next)
		}
		next = w.Last.Next()
		q.Complete(engine.StatusFlushed, events)
	}
}

// Refuse records that the peer refuses the request that owns p. That request fails when it is the oldest: the data of
// earlier READs may still arrive.
func (q *SendQueue) Refuse(p psn.PSN, s engine.Status) { q.refused, q.refusedAt = s, p }

// Refused returns the error status of the oldest request if the peer refused it, else StatusSuccess.
func (q *SendQueue) Refused() engine.Status {
	if q.refused != engine.StatusSuccess && q.Begun > 0 {
		if w := q.At(0); w.First.LessEq(q.refusedAt) && q.refusedAt.LessEq(w.Last) {
			return q.refused
		}
	}
	return engine.StatusSuccess
}
