package metrics

import (
	"math"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// slot is the state of one PSN: 16 bytes, because a window over 80 ms at 400 Gb/s holds four million.
type slot struct {
	lost  vtime.Time // time of the first transmission that the link lost; notLost when there is none to recover
	bytes int32      // payload of the first transmission
	sent  bool       // transmitted at least once
	safe  bool       // a copy arrives, now or later
	here  bool       // READ responses with a separate sequence space: it has arrived
	ends  bool       // READ responses with a separate sequence space: it is the last of its READ
}

const notLost vtime.Time = math.MinInt64

// space is one sequence space: PSNs with the wraps undone, as offsets from the first, and a slot for each offset in the
// window [lo, next). The slots are a ring that grows with the window.
type space struct {
	started bool
	ref     psn.PSN // PSN of offset lo
	lo      int64   // everything before has been acknowledged or delivered
	next    int64   // one after the highest seen
	slots   []slot  // a power of two of them, or none
}

// Limits of the windows: the widest is half of the range that PSN arithmetic can order, and holds 80 ms at 400 Gb/s;
// all together take 512 MB at most.
const (
	firstSlots = 2
	leastSlots = 64 // slots that each window may have, whatever the total
	mostSlots  = psn.Half / 2
	totalSlots = 1 << 25
)

// begin makes p the PSN with the given offset.
func (s *space) begin(p psn.PSN, offset int64) {
	s.started, s.ref, s.lo, s.next = true, p, offset, offset
}

// offset undoes the wraps of p.
func (s *space) offset(p psn.PSN) int64 { return s.lo + int64(p.Sub(s.ref)) }

// find returns the slot of an offset; nil outside the window.
func (s *space) find(o int64) *slot {
	if o < s.lo || o >= s.next {
		return nil
	}
	return &s.slots[int(o)&(len(s.slots)-1)]
}

// extend moves next past o, where next <= o, and returns the slot of o; the slots between are empty. Where a limit
// keeps the ring from growing, the oldest are forgotten.
func (s *space) extend(o int64, budget *int) *slot {
	if int(o-s.lo) >= len(s.slots) {
		s.grow(int(o-s.lo)+1, budget)
	}
	mask := len(s.slots) - 1
	for n := max(s.next, o-int64(mask)); n <= o; n++ {
		s.slots[int(n)&mask] = slot{lost: notLost}
	}
	s.next = o + 1
	if s.next-s.lo > int64(len(s.slots)) {
		s.advance(s.next - int64(len(s.slots)))
	}
	return &s.slots[int(o)&mask]
}

// grow makes room for a window of span offsets, as far as the budget goes.
func (s *space) grow(span int, budget *int) {
	size := max(firstSlots, len(s.slots))
	for size < min(span, mostSlots) && (size < leastSlots || 2*size-len(s.slots) <= *budget) {
		size *= 2
	}
	if size == len(s.slots) {
		return
	}
	*budget -= size - len(s.slots)
	old := s.slots
	s.slots = make([]slot, size)
	for o := s.lo; o < s.next; o++ {
		s.slots[int(o)&(size-1)] = old[int(o)&(len(old)-1)]
	}
}

// advance settles everything before o; the window never moves back.
func (s *space) advance(o int64) {
	if o <= s.lo {
		return
	}
	s.ref = s.ref.Add(int(o - s.lo))
	s.lo = o
	s.next = max(s.next, o)
}
