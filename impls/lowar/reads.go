package lowar

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// readRanges are the PSNs of the READ responses that a requester waits for, as its READ requests told. Responses have
// the PSNs of the requests that they answer, so between two READs there are PSNs of which no response comes.
type readRanges struct{ open ring.Ring[readRange] }

// readRange is one READ. A READ that is asked for again, in whole or from somewhere on, is the same.
type readRange struct{ first, last psn.PSN }

// asked notes a READ request of n responses, and reports whether it is the only one that waits for data.
func (r *readRanges) asked(first psn.PSN, n int) (alone bool) {
	last := first.Add(n - 1)
	if k := r.open.Len(); k > 0 && last.LessEq(r.open.At(k-1).last) {
		return false
	}
	r.open.Push(readRange{first, last})
	return r.open.Len() == 1
}

func (r *readRanges) empty() bool { return r.open.Len() == 0 }

// after drops the READs that end before p and returns the first PSN from p on that is expected; p itself when none is.
func (r *readRanges) after(p psn.PSN) psn.PSN {
	for r.open.Len() > 0 && r.open.At(0).last.Less(p) {
		r.open.Drop()
	}
	if r.open.Len() == 0 {
		return p
	}
	return psn.Max(p, r.open.At(0).first)
}
