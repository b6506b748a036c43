package relay

// store hands out buffers for frames in flight, from a bounded amount of memory. Freed buffers are kept for reuse, so a
// relay in steady state allocates nothing.
type store struct {
	limit int
	used  int // bytes of all buffers, whether lent or free
	free  [classes][][]byte
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

// get returns a buffer of length n, or nil when the memory is used up.
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
	s.used += size // never given back: free buffers of one class do not serve another, and a run's mix is steady
	return make([]byte, n, size)
}

// put takes a buffer back.
func (s *store) put(b []byte) {
	class, _ := classOf(cap(b))
	s.free[class] = append(s.free[class], b)
}
