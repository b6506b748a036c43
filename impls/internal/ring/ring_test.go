package ring

import "testing"

func TestRing(t *testing.T) {
	var q Ring[int]
	next, want := 0, 0
	for round := range 40 {
		for range round % 13 {
			q.Push(next)
			next++
		}
		for range round % 11 {
			if v, ok := q.Pop(); ok {
				if v != want {
					t.Fatalf("popped %d, want %d", v, want)
				}
				want++
			}
		}
	}
	if q.Len() != next-want || *q.At(0) != want {
		t.Errorf("%d left from %d, want %d from %d", q.Len(), *q.At(0), next-want, want)
	}
	for i := range 100 { // beyond the size, before the first element
		if q.PushFront(-i); *q.At(0) != -i || *q.At(q.Len() - 1) != next-1 {
			t.Fatalf("the ends are %d and %d, want %d and %d", *q.At(0), *q.At(q.Len() - 1), -i, next-1)
		}
	}
	for q.Len() > 0 {
		q.Drop()
	}
	if v, ok := q.Pop(); ok {
		t.Errorf("an empty ring pops %d", v)
	}
}

func TestSteadyRingAllocatesNothing(t *testing.T) {
	var q Ring[[4]int]
	for range 100 {
		q.Push([4]int{})
	}
	if n := testing.AllocsPerRun(100, func() { q.Push([4]int{}); q.Pop() }); n != 0 {
		t.Errorf("%v allocations per turn, want none", n)
	}
}
