package rc

import (
	"sort"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// Request is a work request in the send queue. Its packets exist only as the range of their PSNs.
type Request struct {
	First, Last psn.PSN // set when the first packet is made
	Packets     int     // packets of data: of the request, or of the responses to it
	SN          uint32  // its number among those that take a receive, or among READs and atomics: 24 bits
	engine.WorkRequest
	Data psn.PSN // READ and atomic: the PSN of the first response
}

// Fetches reports a request whose answer is data, with PSNs of its own.
func (w *Request) Fetches() bool { return w.Op >= engine.OpRead }

// psns returns how many request PSNs it takes: a READ takes one, because its responses are numbered apart.
func (w *Request) psns() int {
	if w.Fetches() {
		return 1
	}
	return w.Packets
}

// takesReceive reports an operation that uses up a receive at the peer.
func (w *Request) takesReceive() bool { return w.Op != engine.OpWrite && !w.Fetches() }

// Done reports whether a request that has PSNs is finished, where everything before una is acknowledged, and the
// responses before data are in memory. Requests complete in posting order, so a WRITE that is acknowledged waits for a
// READ before it (IBTA 9.7.7).
func (w *Request) Done(una, data psn.PSN) bool {
	return w.Last.Less(una) && (!w.Fetches() || w.Data.Add(w.Packets).LessEq(data))
}

// SendQueue holds the work requests that have not completed, oldest first.
type SendQueue struct {
	ring.Ring[Request]
	Begun int // requests that have PSNs; the others wait behind them
	Reads int // READs and atomics among the begun ones

	recvSN, readSN uint32  // numbers of the next request that takes a receive, and of the next READ or atomic
	data           psn.PSN // PSN of its first response

	refused   engine.Status // of the request that the peer refuses; StatusSuccess while there is none
	refusedAt psn.PSN       // one of its PSNs
}

// NewSendQueue returns a queue whose READ responses begin with the PSN data.
func NewSendQueue(data psn.PSN) SendQueue { return SendQueue{data: data} }

// Next returns the request whose packet goes next, under the PSN next, or nil when none can go. It begins a request
// whose turn has come: those outstanding among READs are limited by what the peer can serve, and by the span of
// response PSNs from the expected one on that can be told apart. What is behind one that has to wait does too, because
// requests go out in posting order (IBTA 9.4.4). After a refusal nothing new goes.
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

// begin gives the next request its PSNs and its number.
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

// Complete ends the oldest request. Errors are signalled even when the request asked for silence (IBTA 10.7.3).
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

// Flush ends all requests in order. Those that never began are given the PSNs they would have had from next on, so that
// their completions are in order too.
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

// Refuse notes that the peer refuses the request that owns p. It fails in its turn: READs before it may still get their
// data.
func (q *SendQueue) Refuse(p psn.PSN, s engine.Status) { q.refused, q.refusedAt = s, p }

// Refused returns how the oldest request fails, when it is the one that the peer refuses, and else StatusSuccess.
func (q *SendQueue) Refused() engine.Status {
	if q.refused != engine.StatusSuccess && q.Begun > 0 {
		if w := q.At(0); w.First.LessEq(q.refusedAt) && q.refusedAt.LessEq(w.Last) {
			return q.refused
		}
	}
	return engine.StatusSuccess
}
