package expect

import "bytes"

// Image is the expected content of a region.
type Image struct {
	Base uint64 // address of the first byte
	Want []byte // expected content, valid where it is determined

	state     []byte // state of each byte; nil until a byte is touched
	unordered bool
	scratch   *Scratch
}

// NewImage returns the image of a region of n bytes at base. The caller fills Want, which is borrowed from s, with the
// initial content of the region. unordered means that the last of several requests that wrote a byte is not known.
func NewImage(base, n uint64, unordered bool, s *Scratch) Image {
	return Image{Base: base, Want: s.take(n), unordered: unordered, scratch: s}
}

// states returns the states, allocated if they are not yet.
func (m *Image) states() []byte {
	if m.state == nil {
		m.state = m.scratch.take(uint64(len(m.Want)))
		clear(m.state)
	}
	return m.state
}

// Scratch lends memory to the images of one connection, and then again to those of the next: reused memory is in the
// processor's caches, and the cost of new memory would exceed that of the comparison.
type Scratch struct {
	blocks [][]byte
	lent   int // number of blocks in use
}

// Reset makes all lent memory available again.
func (s *Scratch) Reset() { s.lent = 0 }

// take returns n bytes with arbitrary content.
func (s *Scratch) take(n uint64) []byte {
	if s.lent == len(s.blocks) {
		s.blocks = append(s.blocks, nil)
	}
	b := &s.blocks[s.lent]
	if uint64(cap(*b)) < n {
		*b = make([]byte, n)
	}
	s.lent++
	return (*b)[:n]
}

// The states of a byte. A byte that both a script and a load wrote is open, unless they wrote the same value.
const (
	untouched = iota
	byScript
	byLoad
	open // the content is not determined
)

// at returns the offset of [va, va+n) in the region; ok is false when the region does not hold it all.
func (m *Image) at(va, n uint64) (off uint64, ok bool) {
	size := uint64(len(m.Want))
	off = va - m.Base
	return off, off <= size && n <= size-off
}

// Open reports whether the content of a byte, by its offset, is not determined.
func (m *Image) Open(at uint64) bool { return m.state != nil && m.state[at] == open }

// mark returns the state of bytes that the request writes.
func (w *Work) mark() byte {
	if w.Loop {
		return byLoad
	}
	return byScript
}

// blockLen is the number of bytes that are processed together. Most ranges have one state throughout, and comparing
// blocks is far faster than comparing bytes.
const blockLen = 4096

// putAll sets bytes at an offset to b, written by the request.
func (m *Image) putAll(at uint64, b []byte, w *Work) {
	for len(b) > 0 {
		n := min(len(b), blockLen)
		if state := m.states()[at : at+uint64(n)]; uniform(state) {
			m.putBlock(at, b[:n], state[0], w)
		} else {
			for k := range n {
				m.put(at+uint64(k), b[k], w)
			}
		}
		at, b = at+uint64(n), b[n:]
	}
}

// uniform reports whether all states, at least one, are the same: then each equals its neighbour.
func uniform(state []byte) bool { return bytes.Equal(state[1:], state[:len(state)-1]) }

// putBlock is put for bytes that are all in one state.
func (m *Image) putBlock(at uint64, b []byte, was byte, w *Work) {
	mark, want := w.mark(), m.Want[at:at+uint64(len(b))]
	switch {
	case was == open:
		return
	case !w.Done:
		mark = open
	case was != untouched && (was != mark || m.unordered) && !bytes.Equal(want, b):
		for k := range b {
			m.put(at+uint64(k), b[k], w)
		}
		return
	}
	copy(want, b)
	if mark != was {
		fill(m.state[at:at+uint64(len(b))], mark)
	}
}

// fill sets all bytes to one value, by copying the part that is filled already.
func fill(b []byte, value byte) {
	b[0] = value
	for n := 1; n < len(b); n *= 2 {
		copy(b[n:], b[:n])
	}
}

// put sets one byte, written by the request.
func (m *Image) put(at uint64, b byte, w *Work) {
	mark, was := w.mark(), m.states()[at]
	switch {
	case was == open:
		return
	case !w.Done, was != untouched && (was != mark || m.unordered) && m.Want[at] != b:
		mark = open
	}
	m.Want[at], m.state[at] = b, mark
}

// OpenBut opens the written bytes that were not declared valid.
func (m *Image) OpenBut(declared Bits) {
	for at := 0; at < len(m.Want); at += 64 {
		word := uint64(0)
		if declared != nil {
			word = declared[at>>6]
		}
		if word != 1<<64-1 {
			openSome(m.states()[at:min(at+64, len(m.Want))], word)
		}
	}
}

// openSome opens those of up to 64 bytes that were written and have no bit in declared.
func openSome(state []byte, declared uint64) {
	if declared == 0 && uniform(state) {
		if state[0] != untouched {
			fill(state, open)
		}
		return
	}
	for k := range state {
		if state[k] != untouched && declared>>k&1 == 0 {
			state[k] = open
		}
	}
}

// Bits has a bit for each byte of a region, 64 in a word; nil has no bit set.
type Bits []uint64

// NewBits returns the bits of a region of n bytes.
func NewBits(n uint64) Bits { return make(Bits, (n+63)/64) }

// Set sets the bits [from, to), a word at a time.
func (bits Bits) Set(from, to uint64) {
	for from < to {
		n := min(to-from, 64-from&63)
		bits[from>>6] |= (1<<n - 1) << (from & 63) // a shift by 64 gives 0, so that 1<<64 - 1 is all ones
		from += n
	}
}

// Compare counts the bytes that differ from the expected ones: those inside a range that requests wrote, and those
// outside.
func (m *Image) Compare(got []byte) (mismatch, guard int64) {
	for at := 0; at < len(got); at += blockLen {
		end := min(at+blockLen, len(got))
		if bytes.Equal(got[at:end], m.Want[at:end]) {
			continue
		}
		state := m.states()
		for k := at; k < end; k++ {
			switch {
			case got[k] == m.Want[k] || state[k] == open:
			case state[k] == untouched:
				guard++
			default:
				mismatch++
			}
		}
	}
	return mismatch, guard
}
