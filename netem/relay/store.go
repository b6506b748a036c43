package relay

// store allocates buffers for frames in flight, from a bounded amount of memory. Freed buffers are kept for reuse, so a
// relay in steady state allocates nothing.
type store struct {
	limit int               // maximum of used, in bytes
	used  int               // bytes of all buffers, in use or free; never decreases
	free  [classes][][]byte // free buffers by size class
}

// Buffers come in sizes that quadruple from smallest to maxFrame: for acknowledgements and control, for packets of 512,
// of 1024 or 2048, and of 4096 bytes or jumbo frames.
const (
	smallest = 160
	classes  = 4
	maxFrame = smallest << (2 * (classes - 1))
)

// classOf returns the size class for n bytes; classes if none is large enough.
func classOf(n int) (class, size int) {
	for size = smallest; class < classes; class++ {
		if n <= size {
			return class, size
		}
		size *= 4
	}
	return class, size
}

// get returns a buffer of length n, or nil if n is too large or the limit is reached.
func (s *store) get(n int) []byte {
	class, size := classOf(n)
	if class == classes {
		return nil
	}
	if k := len(s.free[class]); k > 0 {
		b := s.free[class][k-1]
		s.free[class] = s.free[class][:k-1]
		return b[:n]
	}
	if s.used+size > s.limit {
		return nil
	}
	s.used += size // buffers stay in their class: the mix of frame sizes of a run is steady
	return make([]byte, n, size)
}

// put returns a buffer to the free buffers of its class.
func (s *store) put(b []byte) {
	class, _ := classOf(cap(b))
	s.free[class] = append(s.free[class], b)
}
