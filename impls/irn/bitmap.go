package irn

import (
	"math/bits"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
)

// bitmap holds one bit per PSN of a moving window. The index of a PSN is the PSN modulo the size, a power of two that
// divides 2^24, so that indices stay consecutive where PSNs wrap. The owner clears the bits of PSNs that leave the
// window.
type bitmap struct {
	words []uint64
	mask  uint32 // size in bits minus one
}

// newBitmap returns a bitmap for a window of at least n PSNs.
func newBitmap(n int) bitmap {
	size := 64
	for size < n {
		size *= 2
	}
	return bitmap{words: make([]uint64, size/64), mask: uint32(size - 1)}
}

func (b *bitmap) has(p psn.PSN) bool {
	i := uint32(p) & b.mask
	return b.words[i/64]>>(i%64)&1 != 0
}

func (b *bitmap) set(p psn.PSN) {
	i := uint32(p) & b.mask
	b.words[i/64] |= 1 << (i % 64)
}

func (b *bitmap) clear(p psn.PSN) {
	i := uint32(p) & b.mask
	b.words[i/64] &^= 1 << (i % 64)
}

// clearRange clears [from, to), a word at a time.
func (b *bitmap) clearRange(from, to psn.PSN) {
	for n := min(to.Sub(from), len(b.words)*64); n > 0; {
		i := uint32(from) & b.mask
		k := min(n, 64-int(i%64))
		b.words[i/64] &^= (1<<k - 1) << (i % 64)
		from, n = from.Add(k), n-k
	}
}

// nextClear returns the first PSN of [from, to) whose bit is not set, or to.
func (b *bitmap) nextClear(from, to psn.PSN) psn.PSN {
	for n := to.Sub(from); n > 0; {
		i := uint32(from) & b.mask
		k := min(n, 64-int(i%64))
		ones := bits.TrailingZeros64(^(b.words[i/64] >> (i % 64)))
		if ones < k {
			return from.Add(ones)
		}
		from, n = from.Add(k), n-k
	}
	return to
}
