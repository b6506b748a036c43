package pseudoack

import "github.com/rdma-gauntlet/gauntlet/harness/vtime"

// wakes is a binary heap of the times at which flows want to be woken. A flow's newest entry is never later than its
// deadline; those before it, which it no longer waits for, are dropped when they come to the top.
type wakes []wake

// wake is one time of a flow.
type wake struct {
	at vtime.Time
	fl *flow
}

// before puts the younger flow first at equal times.
func (w *wake) before(o *wake) bool { return w.at < o.at || w.at == o.at && w.fl.born > o.fl.born }

// first returns the flow that waits for the earliest time, nil when none does.
func (h *wakes) first() *flow {
	for len(*h) > 0 {
		if w := (*h)[0]; w.at == w.fl.waits {
			return w.fl
		}
		h.pop()
	}
	return nil
}

// add makes a flow wait for a time, unless it waits for an earlier one.
func (h *wakes) add(fl *flow, at vtime.Time) {
	if at >= fl.waits {
		return
	}
	fl.waits = at
	*h = append(*h, wake{at, fl})
	for list, i := *h, len(*h)-1; i > 0 && list[i].before(&list[(i-1)/2]); i = (i - 1) / 2 {
		list[i], list[(i-1)/2] = list[(i-1)/2], list[i]
	}
}

// pop removes the earliest time.
func (h *wakes) pop() {
	last := len(*h) - 1
	(*h)[0], (*h)[last] = (*h)[last], wake{}
	*h = (*h)[:last]
	for list, i := *h, 0; ; {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < last; c++ {
			if list[c].before(&list[least]) {
				least = c
			}
		}
		if least == i {
			return
		}
		list[i], list[least] = list[least], list[i]
		i = least
	}
}
