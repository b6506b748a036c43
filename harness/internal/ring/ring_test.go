package ring

import "testing"

// A queue that fills and empties in turns returns its items in order, and keeps none alive.
func TestRing(t *testing.T) {
	var q Ring[int]
	next, want := 0, 0
	if q.First() != nil || q.Last() != nil {
		t.Fatal("an empty queue has ends")
	}
	for round := range 200 {
		for range round % 13 {
			v := next
			q.Push(&v)
			next++
		}
		for range min(round%11, q.Len()) {
			if v := q.First(); *v != want || *q.At(0) != want || *q.Last() != next-1 || *q.At(q.Len() - 1) != next-1 {
				t.Fatalf("at the front %d, want %d; at the back %d, want %d", *v, want, *q.Last(), next-1)
			}
			q.Drop()
			want++
		}
	}
	if q.Len() != next-want || next < 1000 {
		t.Errorf("%d left, want %d of %d", q.Len(), next-want, next)
	}
	for ; q.Len() > 0; want++ {
		if *q.First() != want {
			t.Fatalf("at the front %d, want %d", *q.First(), want)
		}
		q.Drop()
	}
	for i, p := range q.buf {
		if p != nil {
			t.Errorf("place %d still points to %d", i, *p)
		}
	}
}
