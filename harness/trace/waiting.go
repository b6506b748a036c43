package trace

import "github.com/rdma-gauntlet/gauntlet/harness/vtime"

// slot is a sight that waits for its time.
type slot struct {
	rec   *Record // the copy in kept, or the owner's record
	kept  *Kept   // nil until a copy was needed; stays with the slot
	lease *Lease  // nil when rec is a copy
	at    vtime.Time
	index uint64
	out   bool
}

// Lease is the number of an owner's records that a Timeline has not shown yet. While it is not zero the owner must not
// change the records or their bytes.
type Lease int

// hold sets the record of a slot: the owner's under a lease, otherwise a copy.
func (s *slot) hold(r *Record, l *Lease) {
	if s.lease = l; l != nil {
		*l++
		s.rec = r
		return
	}
	if s.kept == nil {
		s.kept = new(Kept)
	}
	s.kept.Keep(r)
	s.rec = &s.kept.Rec
}

// free releases the record of a slot.
func (s *slot) free() {
	if s.lease != nil {
		*s.lease--
	}
	s.rec, s.lease = nil, nil
}

// before orders waiting sights: by time, arrivals before departures, then by position in the stream. nil is last.
func (s *slot) before(o *slot) bool {
	switch {
	case s == nil:
		return false
	case o == nil:
		return true
	case s.at != o.at:
		return s.at < o.at
	case s.out != o.out:
		return o.out
	}
	return s.index < o.index
}

// originalOf reports whether s is the arrival of the packet of which r is a copy, by its headers.
func (s *slot) originalOf(r *Record) bool {
	p, c := &s.rec.Packet, &r.Packet
	return !s.out && s.rec.From == r.From && s.rec.Conn == r.Conn && s.rec.Sum == r.Sum &&
		p.BTH == c.BTH && p.AETH == c.AETH && p.SACK == c.SACK && p.IP == c.IP
}

// waiting is a heap of slots, the earliest first.
type waiting []*slot

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (h waiting) Len() int           { return len(h) }
func (h waiting) Less(i, j int) bool { return h[i].before(h[j]) }
func (h waiting) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *waiting) Push(x any) { *h = append(*h, x.(*slot)) }

// Pop implements heap.Interface.
func (h *waiting) Pop() any {
	old := *h
	n := len(old) - 1
	s := old[n]
	*h = old[:n]
	return s
}
