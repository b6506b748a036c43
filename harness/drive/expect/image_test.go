package expect

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// An operation on a block equals the operation on each of its bytes.
func TestBlocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s Scratch
		size := rapid.IntRange(blockLen, 3*blockLen).Draw(t, "size")
		blocks, single := Image{Want: make([]byte, size), scratch: &s}, Image{Want: make([]byte, size), scratch: &s}
		blocks.unordered = rapid.Bool().Draw(t, "unordered")
		single.unordered = blocks.unordered
		for range rapid.IntRange(1, 8).Draw(t, "writes") {
			from := rapid.IntRange(0, size).Draw(t, "from")
			b := bytes.Repeat([]byte{rapid.Byte().Draw(t, "value") & 3}, rapid.IntRange(0, size-from).Draw(t, "len"))
			w := Work{Done: rapid.Bool().Draw(t, "done"), Loop: rapid.Bool().Draw(t, "loop")}
			blocks.putAll(uint64(from), b, &w)
			for k := range b {
				single.put(uint64(from+k), b[k], &w)
			}
		}
		if !bytes.Equal(blocks.states(), single.states()) {
			t.Fatal("the states differ")
		}
		for k, state := range single.state {
			if state != open && blocks.Want[k] != single.Want[k] {
				t.Fatalf("byte %d: %d, want %d", k, blocks.Want[k], single.Want[k])
			}
		}
	})
}

// OpenBut sets the state of all bytes except those in bits.
func TestDeclaredBits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const size = 512
		bits, want := NewBits(size), [size]bool{}
		for range rapid.IntRange(1, 4).Draw(t, "ranges") {
			from := rapid.IntRange(0, size).Draw(t, "from")
			to := rapid.IntRange(from, size).Draw(t, "to")
			bits.Set(uint64(from), uint64(to))
			for k := from; k < to; k++ {
				want[k] = true
			}
		}
		m := Image{Want: make([]byte, size), scratch: new(Scratch)}
		fill(m.states(), byLoad)
		m.OpenBut(bits)
		for k := range want {
			if (m.state[k] == byLoad) != want[k] {
				t.Fatalf("byte %d: state %d, declared %v", k, m.state[k], want[k])
			}
		}
	})
}
