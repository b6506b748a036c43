package relay

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Frames leave in the order of time and, at equal times, of entry, whatever the order of entry.
func TestQueueOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dues := rapid.SliceOfN(rapid.Int64Range(0, 20), 0, 300).Draw(t, "dues")
		var q queue
		type entry struct{ due, i int64 }
		var want []entry
		for i, due := range dues {
			q.push(vtime.Time(due), []byte{byte(i), byte(i >> 8)})
			want = append(want, entry{due, int64(i)})
		}
		slices.SortStableFunc(want, func(a, b entry) int { return int(a.due - b.due) })
		for k, w := range want {
			if _, early := q.pop(vtime.Time(w.due) - 1); early {
				t.Fatalf("pop %d came before its time", k)
			}
			d, ok := q.pop(q.next())
			if i := int64(d.frame[0]) | int64(d.frame[1])<<8; !ok || i != w.i || int64(d.due) != w.due {
				t.Fatalf("pop %d: frame %d at %d, want %d at %d", k, i, d.due, w.i, w.due)
			}
		}
		if q.len() != 0 || q.next() != vtime.Never {
			t.Fatalf("%d frames left", q.len())
		}
	})
}

func TestStoreBoundsAndReuses(t *testing.T) {
	s := store{limit: 3 * 640}
	a, b, c := s.get(600), s.get(161), s.get(640)
	if a == nil || b == nil || c == nil || len(b) != 161 {
		t.Fatal("three buffers of the second class do not fit in three times its size")
	}
	if s.get(1) != nil || s.get(maxFrame+1) != nil {
		t.Error("the limit does not hold")
	}
	s.put(b)
	if again := s.get(500); again == nil || &again[0] != &b[0] || len(again) != 500 {
		t.Error("a freed buffer was not used again")
	}
	s.limit = 1 << 20
	if got := s.get(maxFrame); len(got) != maxFrame || cap(got) != maxFrame {
		t.Errorf("the largest frame got %d of %d bytes", len(got), cap(got))
	}
}

func TestLateness(t *testing.T) {
	l := newLateness()
	for i := range 1000 {
		l.record(vtime.Duration(i) * vtime.Microsecond)
	}
	l.record(-5) // a negative lateness, from clocks that differ a little
	s := l.summary()
	if s.Count != 1001 || s.P50 < 490*vtime.Microsecond || s.P50 > 510*vtime.Microsecond ||
		s.P99 < 980*vtime.Microsecond || s.Max < 999*vtime.Microsecond {
		t.Errorf("got %+v", s)
	}
}
