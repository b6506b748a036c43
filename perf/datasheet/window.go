package datasheet

import (
	"sort"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// slot is a packet of the window. Offsets count PSNs, or bytes of a TCP stream, from the first that was seen.
type slot struct {
	from, to int64 // a READ takes one offset for each response that it asks for
	first    vtime.Time
	latest   vtime.Time
	ackReq   bool
	ends     bool // last of its message
	read     bool
	again    bool // the packet was sent more than once
}

// window is the packets from the oldest that is not acknowledged to the newest, in the order of their offsets.
type window struct {
	slots    []slot
	head     int // index of the first slot that is not acknowledged
	messages int // ends among the others
}

// windowLimit bounds the packets of a window; beyond it the oldest are dropped.
const windowLimit = 1 << 20

// count returns the packets in the window.
func (w *window) count() int { return len(w.slots) - w.head }

// push adds the newest packet.
func (w *window) push(s slot) {
	if w.count() == windowLimit {
		w.pop()
	}
	if w.head > len(w.slots)/2 { // so that acknowledged slots do not accumulate
		w.slots = w.slots[:copy(w.slots, w.slots[w.head:])]
		w.head = 0
	}
	w.slots = append(w.slots, s)
	if s.ends {
		w.messages++
	}
}

// pop drops the oldest packet.
func (w *window) pop() {
	if w.slots[w.head].ends {
		w.messages--
	}
	w.head++
}

// drop drops the packets that lie wholly before an offset, and returns their number and the number of those that asked
// for an acknowledgement.
func (w *window) drop(upTo int64) (packets, asked int) {
	for w.count() > 0 && w.slots[w.head].to <= upTo {
		packets++
		if w.slots[w.head].ackReq {
			asked++
		}
		w.pop()
	}
	return packets, asked
}

// find returns the packet that holds an offset, nil when there is none.
func (w *window) find(o int64) *slot {
	live := w.slots[w.head:]
	i := sort.Search(len(live), func(i int) bool { return live[i].to > o })
	if i == len(live) || live[i].from > o {
		return nil
	}
	return &live[i]
}

// space undoes the wraps of 24-bit or 32-bit numbers.
type space struct {
	begun bool
	ref   uint32 // the newest number seen
	at    int64  // and its offset
}

// offset returns where number n lies, given the signed distance of two numbers.
func (s *space) offset(n uint32, distance func(n, m uint32) int) int64 {
	if !s.begun {
		s.begun, s.ref = true, n
	}
	o := s.at + int64(distance(n, s.ref))
	if o > s.at {
		s.ref, s.at = n, o
	}
	return o
}
