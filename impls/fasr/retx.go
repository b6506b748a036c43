package fasr

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// span is the PSNs [from, to).
type span struct{ from, to psn.PSN }

// retx is the paper's RetxQueue (Figure 6): the PSNs to be retransmitted, in order, as spans that do not touch. SACKs
// carry increasing PSNs, so that spans are added at the end; a timeout rebuilds the queue.
type retx struct{ ring.Ring[span] }

// add appends a span that does not begin before the last span of the queue.
func (q *retx) add(from, to psn.PSN) {
	if q.Len() > 0 {
		if last := q.At(q.Len() - 1); from.LessEq(last.to) {
			last.to = psn.Max(last.to, to)
			return
		}
	}
	if from.Less(to) {
		q.Push(span{from, to})
	}
}

// insert adds one PSN at its place in the order.
func (q *retx) insert(p psn.PSN) {
	i := 0
	for i < q.Len() && q.At(i).to.LessEq(p) {
		i++
	}
	if i < q.Len() && q.At(i).from.LessEq(p) {
		return // already queued
	}
	q.Push(span{p, p.Next()})
	for k := q.Len() - 1; k > i; k-- {
		*q.At(k), *q.At(k - 1) = *q.At(k - 1), *q.At(k)
	}
}

// forget drops all PSNs before una, which are acknowledged.
func (q *retx) forget(una psn.PSN) {
	for q.Len() > 0 && q.At(0).to.LessEq(una) {
		q.Drop()
	}
	if q.Len() > 0 && q.At(0).from.Less(una) {
		q.At(0).from = una
	}
}

// next removes and returns the lowest PSN; the queue is not empty.
func (q *retx) next() psn.PSN {
	s := q.At(0)
	p := s.from
	if s.from = p.Next(); s.from == s.to {
		q.Drop()
	}
	return p
}
