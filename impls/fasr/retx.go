package fasr

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// span is the PSNs [from, to).
type span struct{ from, to psn.PSN }

// retx is the paper's RetxQueue (Figure 6): what is to be sent again, in PSN order, as spans that do not touch. SACKs
// name ever higher PSNs, so that spans are added at the end; a timeout makes the list anew.
type retx struct{ ring.Ring[span] }

// add appends a span that is not before what the queue holds.
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

// insert adds one PSN wherever it belongs.
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

// forget drops what is acknowledged, everything before una.
func (q *retx) forget(una psn.PSN) {
	for q.Len() > 0 && q.At(0).to.LessEq(una) {
		q.Drop()
	}
	if q.Len() > 0 && q.At(0).from.Less(una) {
		q.At(0).from = una
	}
}

// next takes the lowest PSN; there must be one.
func (q *retx) next() psn.PSN {
	s := q.At(0)
	p := s.from
	if s.from = p.Next(); s.from == s.to {
		q.Drop()
	}
	return p
}
