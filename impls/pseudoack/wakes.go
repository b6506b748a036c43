package pseudoack

import "github.com/rdma-gauntlet/gauntlet/harness/vtime"

// wakes is a binary heap of the wake-up times of flows. The valid entry of a flow is the one whose time equals
// flow.waits, and it is never later than the flow's deadline. Other entries are stale and are dropped at the top of the
// heap.
type wakes []wake

// wake is one entry of a flow.
type wake struct {
	at vtime.Time
	fl *flow
}

// before orders entries by time and puts the newer flow first at equal times.
func (w *wake) before(o *wake) bool { return w.at < o.at || w.at == o.at && w.fl.born > o.fl.born }

// first drops stale entries from the top and returns the flow with the earliest wake-up time, nil if there is none.
func (h *wakes) first() *flow {
	for len(*h) > 0 {
		if w := (*h)[0]; w.at == w.fl.waits {
			return w.fl
		}
		h.pop()
	}
	return nil
}

// add adds an entry for a flow unless its valid entry is at least as early.
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

// pop removes the earliest entry.
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
