package lowar

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// readRanges holds the PSNs of the READ responses that a requester expects, from its READ requests. Responses have the
// PSNs of the requests that they answer, so between two READs there may be PSNs without a response.
type readRanges struct{ open ring.Ring[readRange] }

// readRange is the PSNs of the responses to one READ. A re-issued READ, in whole or in part, is in the range of the
// original.
type readRange struct{ first, last psn.PSN }

// asked records a READ request with n responses, and reports whether it is new and the only READ that waits for data.
func (r *readRanges) asked(first psn.PSN, n int) (alone bool) {
	last := first.Add(n - 1)
	if k := r.open.Len(); k > 0 && last.LessEq(r.open.At(k-1).last) {
		return false
	}
	r.open.Push(readRange{first, last})
	return r.open.Len() == 1
}

func (r *readRanges) empty() bool { return r.open.Len() == 0 }

// after drops the READs that end before p and returns the first expected PSN from p on, or p if none is expected.
func (r *readRanges) after(p psn.PSN) psn.PSN {
	for r.open.Len() > 0 && r.open.At(0).last.Less(p) {
		r.open.Drop()
	}
	if r.open.Len() == 0 {
		return p
	}
	return psn.Max(p, r.open.At(0).first)
}
