package fasr

import "github.com/rdma-gauntlet/gauntlet/harness/psn"

// span is the PSNs [from, to).
type span struct{ from, to psn.PSN }

// retx is the paper's RetxQueue (Figure 6): what is to be sent again, in PSN order, as spans that do not touch. SACKs name
// ever higher PSNs, so that spans are added at the end; a timeout makes the list anew.
type retx struct{ ring[span] }

// add appends a span that is not before what the queue holds.
func (q *retx) add(from, to psn.PSN) {
	if q.n > 0 {
		if last := q.at(q.n - 1); from.LessEq(last.to) {
			last.to = psn.Max(last.to, to)
			return
		}
	}
	if from.Less(to) {
		q.push(span{from, to})
	}
}

// insert adds one PSN wherever it belongs.
func (q *retx) insert(p psn.PSN) {
	i := 0
	for i < q.n && q.at(i).to.LessEq(p) {
		i++
	}
	if i < q.n && q.at(i).from.LessEq(p) {
		return // already queued
	}
	q.push(span{p, p.Next()})
	for k := q.n - 1; k > i; k-- {
		*q.at(k), *q.at(k - 1) = *q.at(k - 1), *q.at(k)
	}
}

// clear empties the queue.
func (q *retx) clear() { q.head, q.n = 0, 0 }

// forget drops what is acknowledged, everything before una.
func (q *retx) forget(una psn.PSN) {
	for q.n > 0 && q.at(0).to.LessEq(una) {
		q.drop()
	}
	if q.n > 0 && q.at(0).from.Less(una) {
		q.at(0).from = una
	}
}

// next takes the lowest PSN; there must be one.
func (q *retx) next() psn.PSN {
	s := q.at(0)
	p := s.from
	if s.from = p.Next(); s.from == s.to {
		q.drop()
	}
	return p
}
