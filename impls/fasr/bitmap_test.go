package fasr

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
)

// TestBitmapIsAList compares the bitmap, with its compression-cnt and its blocks, with a slice of booleans.
func TestBitmapIsAList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPool(Pool{Units: 1, Blocks: rapid.IntRange(1, 12).Draw(t, "blocks"),
			BlockBits: rapid.IntRange(1, 16).Draw(t, "bits")})
		var b bitmap
		var model []bool
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			n, k := rapid.IntRange(0, 30).Draw(t, "n"), rapid.IntRange(0, 30).Draw(t, "k")
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0:
				b.release(p)
				model = nil
				if b.start(p, n, k) {
					model = append(append(equal(n, true), equal(k, false)...), true)
				}
			case 1:
				if b.on && b.add(p, n, k) {
					model = append(append(model, equal(n, false)...), equal(k, true)...)
				}
			case 2:
				missing := 0
				for _, arrived := range model[:min(n, len(model))] {
					if !arrived {
						missing++
					}
				}
				if got := b.skip(p, n); got != missing {
					t.Fatalf("skip(%d) passes %d missing, want %d", n, got, missing)
				}
				model = model[min(n, len(model)):]
			case 3:
				want := 0
				for want < len(model) && model[want] {
					want++
				}
				if got := b.run(p); got != want {
					t.Fatalf("a run of %d, want %d", got, want)
				}
				model = model[min(want+1, len(model)):]
			}
			check(t, p, &b, model)
		}
		b.release(p)
		if p.blockMap.taken != 0 {
			t.Fatalf("%d blocks are not given back", p.blockMap.taken)
		}
	})
}

func equal(n int, v bool) []bool {
	s := make([]bool, n)
	for i := range s {
		s[i] = v
	}
	return s
}

func check(t *rapid.T, p *pool, b *bitmap, model []bool) {
	t.Helper()
	if b.length() != len(model) {
		t.Fatalf("length %d, want %d", b.length(), len(model))
	}
	stride := rapid.IntRange(1, 8).Draw(t, "stride")
	c, from := b.cursor(p), b.cursor(p)
	for i := 0; i < len(model); i += stride {
		if c.at(i) != model[i] {
			t.Fatalf("position %d: %v, want %v", i, !model[i], model[i])
		}
	}
	for i, arrived := 0, false; i < len(model); arrived = !arrived {
		want := i
		for want < len(model) && model[want] != arrived {
			want++
		}
		if got := from.next(i, arrived); got != want {
			t.Fatalf("the first position from %d on with arrived=%v is %d, want %d", i, arrived, got, want)
		}
		i = want
	}
	if p.blockMap.taken != b.blocks || b.end > b.blocks*p.perBlock || b.blocks > 0 && b.end <= (b.blocks-1)*p.perBlock {
		t.Fatalf("%d blocks taken, %d in the list, for %d bits", p.blockMap.taken, b.blocks, b.end)
	}
}

// TestTimeoutsReadBlocksOnce: a timeout, and the deadlines of all READ requests that pass at one time, follow each
// pointer of the list once, however many packets are missing.
func TestTimeoutsReadBlocksOnce(t *testing.T) {
	for _, blocks := range []int{1, 100, maxBlocks} {
		h := host(t, engine.Params{"blocks": fmt.Sprint(blocks), "block_bits": "8", "window": "65536"})
		s := (&nic{host: h}).newSender(requestSender, 0)
		s.next = psn.PSN(8*blocks + 1)
		for p := psn.PSN(2); p < s.next; p += 2 {
			s.sack(0, p, min(int(p), maxLost), p > maxLost)
		}
		if s.sr == nil || s.sr.arrived.blocks != blocks {
			t.Fatalf("%d blocks are not in use: %+v", blocks, s.sr)
		}
		s.again()
		if got := h.pool.steps; got >= int64(blocks) || s.retx.Len() != 4*blocks {
			t.Errorf("%d blocks: a timeout takes %d steps and queues %d spans", blocks, got, s.retx.Len())
		}
		h.pool.steps = 0
		c := s.cursor()
		for p := range s.next {
			if s.missing(&c, p) != (p == 0 || p%2 == 1) {
				t.Fatalf("%d blocks: PSN %d is missing: %v", blocks, p, p%2 == 0)
			}
		}
		if got := h.pool.steps; got >= int64(blocks) {
			t.Errorf("%d blocks: the deadlines of READ requests take %d steps", blocks, got)
		}
	}
}

// TestCompression: a run of a block or more takes no bits; a shorter run, and the part of a run beyond ten bits, is
// written as bits (FaSR III-D).
func TestCompression(t *testing.T) {
	for _, tc := range []struct{ run, compression, blocks int }{
		{0, 0, 1}, {9, 0, 2}, {10, 10, 1}, {25, 25, 1}, {1023, 1023, 1}, {1024, 1023, 1}, {1050, 1023, 3},
	} {
		p := newPool(Pool{Blocks: 10, BlockBits: 10})
		var b bitmap
		if !b.start(p, tc.run, 1) || b.compression != tc.compression || b.blocks != tc.blocks {
			t.Errorf("a run of %d: compression %d and %d blocks, want %d and %d", tc.run, b.compression, b.blocks,
				tc.compression, tc.blocks)
		}
	}
}

func TestBitmapChangesNothingWhenThePoolIsTooSmall(t *testing.T) {
	p := newPool(Pool{Blocks: 2, BlockBits: 10})
	var b bitmap
	if b.start(p, 0, 20) || b.on || p.blockMap.taken != 0 {
		t.Errorf("21 bits in 20: %+v, %d blocks taken", b, p.blockMap.taken)
	}
	if !b.start(p, 0, 9) || b.add(p, 11, 0) || b.length() != 10 || p.blockMap.taken != 1 {
		t.Errorf("10 bits, and 11 more in 10: %+v, %d blocks taken", b, p.blockMap.taken)
	}
	if p.exhausted != 2 {
		t.Errorf("exhausted %d times, want 2", p.exhausted)
	}
}

// TestAvailable takes and gives back across the words of the map.
func TestAvailable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := available{n: rapid.IntRange(0, maxBlocks).Draw(t, "n")}
		taken := map[int]bool{}
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			for range rapid.IntRange(0, 200).Draw(t, "takes") {
				i, ok := a.take()
				if ok != (len(taken) < a.n) || ok && (taken[i] || i >= a.n) {
					t.Fatalf("take gives %d, %v with %d of %d taken", i, ok, len(taken), a.n)
				}
				if ok {
					taken[i] = true
				}
			}
			for i := range a.n {
				if taken[i] && i%3 == 0 {
					a.give(i)
					delete(taken, i)
				}
			}
			if a.taken != len(taken) || a.high < a.taken {
				t.Fatalf("%d taken, %d at most; want %d", a.taken, a.high, len(taken))
			}
		}
	})
}
