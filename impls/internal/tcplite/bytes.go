package tcplite

import "github.com/rdma-gauntlet/gauntlet/harness/tcp"

// bytesAt stores bytes by sequence number, from base on, in a circular buffer that grows by doubling and never shrinks.
type bytesAt struct {
	buf  []byte  // its length is zero or a power of two
	base tcp.Seq // oldest sequence number held
	gone uint64  // number of bytes dropped since the start
	end  tcp.Seq
	any  bool // bytes are held, up to end
}

// put stores data at a sequence number that is not before base.
func (s *bytesAt) put(at tcp.Seq, data []byte) {
	end := at.Add(len(data))
	if !s.any || s.end.Less(end) {
		s.end, s.any = end, true
	}
	for need := end.Sub(s.base); need > len(s.buf); {
		s.grow()
	}
	for len(data) > 0 {
		n := copy(s.buf[s.index(at):], data)
		at, data = at.Add(n), data[n:]
	}
}

func (s *bytesAt) index(at tcp.Seq) int { return int(at) & (len(s.buf) - 1) }

func (s *bytesAt) grow() {
	old := *s
	s.buf = make([]byte, max(4<<10, 2*len(old.buf)))
	for i := range old.buf {
		at := s.base.Add(i)
		s.buf[s.index(at)] = old.buf[old.index(at)]
	}
}

// get copies the bytes from a sequence number on to b; all must be held.
func (s *bytesAt) get(at tcp.Seq, b []byte) {
	for len(b) > 0 {
		n := copy(b, s.buf[s.index(at):])
		at, b = at.Add(n), b[n:]
	}
}

// piece returns up to n held bytes without copying: those up to the end of the circular buffer.
func (s *bytesAt) piece(at tcp.Seq, n int) []byte {
	i := s.index(at)
	return s.buf[i:min(len(s.buf), i+n)]
}

// drop removes all bytes before a sequence number and returns their number.
func (s *bytesAt) drop(to tcp.Seq) (n int) {
	if s.any {
		upTo := to
		if s.end.Less(to) { // SYN and FIN take a sequence number and have no bytes
			upTo, s.any = s.end, false
		}
		n = max(0, upTo.Sub(s.base))
	}
	s.gone += uint64(n)
	s.base = to
	return n
}

// reassembly is the ranges of data that arrived out of order: sorted, disjoint and not adjacent.
type reassembly struct {
	ranges []span
}

type span struct{ from, to tcp.Seq }

// maxSpans bounds the ranges of a receiver. Data that would need another range is dropped.
const maxSpans = 1 << 10

func (r *reassembly) empty() bool { return len(r.ranges) == 0 }

// add adds a range and reports whether there was room for it.
func (r *reassembly) add(from, to tcp.Seq) bool {
	i := len(r.ranges)
	for i > 0 && from.Less(r.ranges[i-1].from) { // most data arrives in order: search from the end
		i--
	}
	if i > 0 && from.AtMost(r.ranges[i-1].to) {
		i--
		r.ranges[i].to = tcp.Later(r.ranges[i].to, to)
	} else {
		if len(r.ranges) == maxSpans {
			return false
		}
		r.ranges = append(r.ranges, span{})
		copy(r.ranges[i+1:], r.ranges[i:])
		r.ranges[i] = span{from, to}
	}
	r.merge(i)
	return true
}

// merge joins range i with the following ranges that it overlaps or touches.
func (r *reassembly) merge(i int) {
	k := i + 1
	for k < len(r.ranges) && r.ranges[k].from.AtMost(r.ranges[i].to) {
		r.ranges[i].to = tcp.Later(r.ranges[i].to, r.ranges[k].to)
		k++
	}
	r.ranges = append(r.ranges[:i+1], r.ranges[k:]...)
}

// join returns the end of the data that is contiguous with at, and removes the ranges before it.
func (r *reassembly) join(at tcp.Seq) tcp.Seq {
	k := 0
	for k < len(r.ranges) && r.ranges[k].from.AtMost(at) {
		at = tcp.Later(at, r.ranges[k].to)
		k++
	}
	r.ranges = append(r.ranges[:0], r.ranges[k:]...)
	return at
}
