package psn

import (
	"testing"

	"pgregory.net/rapid"
)

// psns draws sequence numbers, often close to the wrap.
func psns() *rapid.Generator[PSN] {
	return rapid.Map(
		rapid.OneOf(rapid.Uint32(), rapid.Uint32Range(Mask-3, Mask+3), rapid.Uint32Range(Half-3, Half+3)), New)
}

// TestWindow compares serial arithmetic with integers: for any start and distances below Half, the order on the circle
// is the order of the distances.
func TestWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := psns().Draw(t, "start")
		i, j := rapid.IntRange(0, Half-1).Draw(t, "i"), rapid.IntRange(0, Half-1).Draw(t, "j")
		p, q := start.Add(i), start.Add(j)
		if p.Sub(q) != i-j || p.Less(q) != (i < j) || p.LessEq(q) != (i <= j) || Max(p, q) != start.Add(max(i, j)) {
			t.Fatalf("start %v +%d +%d: Sub %d, Less %v, LessEq %v, Max %v", start, i, j, p.Sub(q), p.Less(q),
				p.LessEq(q), Max(p, q))
		}
		if p.In(start, q) != (i < j) {
			t.Fatalf("%v.In(%v, %v) = %v", p, start, q, p.In(start, q))
		}
		m, n := MSN(p), MSN(q)
		if m.Sub(n) != i-j || m.Less(n) != (i < j) {
			t.Fatalf("MSN %v, %v: Sub %d, Less %v", m, n, m.Sub(n), m.Less(n))
		}
	})
}

func TestAddSub(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, n := psns().Draw(t, "p"), rapid.Int().Draw(t, "n")
		q := p.Add(n)
		switch {
		case q > Mask || MSN(p).Add(n) != MSN(q):
			t.Fatalf("%v.Add(%d) = %v, as MSN %v", p, n, q, MSN(p).Add(n))
		case q.Add(-n) != p:
			t.Fatalf("%v.Add(%d).Add(%d) = %v", p, n, -n, q.Add(-n))
		case p.Add(q.Sub(p)) != q:
			t.Fatalf("%v + (%v - %v) = %v", p, q, p, p.Add(q.Sub(p)))
		case p.Next() != p.Add(1) || p.Prev() != p.Add(-1) || MSN(p).Next() != MSN(p).Add(1):
			t.Fatalf("%v: Next %v, Prev %v, MSN Next %v", p, p.Next(), p.Prev(), MSN(p).Next())
		}
	})
}

func TestWrap(t *testing.T) {
	for _, tt := range []struct {
		p, q PSN
		sub  int
	}{
		{0, Mask, 1},
		{Mask, 0, -1},
		{Half - 1, 0, Half - 1},
		{Half, 0, -Half}, // undefined order: negative both ways
		{0, Half, -Half},
		{Half + 1, 0, -Half + 1},
		{5, 5, 0},
	} {
		if got := tt.p.Sub(tt.q); got != tt.sub || tt.p.Less(tt.q) != (tt.sub < 0) {
			t.Errorf("%v.Sub(%v) = %d, want %d", tt.p, tt.q, got, tt.sub)
		}
	}
	if New(1<<24|7) != 7 || PSN(Mask).Next() != 0 || PSN(0).Prev() != Mask {
		t.Error("numbers do not wrap after 24 bits")
	}
	if PSN(0).In(0, 0) || !PSN(0).In(Mask, 1) || PSN(1).In(Mask, 1) {
		t.Error("a window includes its start and excludes its end")
	}
	if PSN(Mask).String() != "16777215" || MSN(3).String() != "3" {
		t.Error("numbers print in decimal")
	}
}
