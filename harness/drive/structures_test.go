package drive

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// The ring is a queue.
func TestRing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		qps := rapid.IntRange(1, 8).Draw(t, "qps")
		var r ring
		r.init(qps)
		var model []int
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				i := rapid.IntRange(0, qps-1).Draw(t, "qp")
				if slices.Contains(model, i) {
					t.Skip("already in it")
				}
				r.push(i)
				model = append(model, i)
			},
			"next": func(t *rapid.T) {
				i, ok := r.next()
				if ok != (len(model) > 0) || ok && i != model[0] {
					t.Fatalf("next %d, %v; want the first of %v", i, ok, model)
				}
				model = model[min(1, len(model)):]
			},
			"": func(t *rapid.T) {
				if r.n != len(model) {
					t.Fatalf("%d in the ring, want %d", r.n, len(model))
				}
			},
		})
	})
}

// The heap returns the earliest deadline first, and of equal ones that of the lowest QP.
func TestDeadlines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		qps := rapid.IntRange(1, 20).Draw(t, "qps")
		var d deadlines
		d.init(qps)
		model := map[int]vtime.Time{}
		first := func() (qp int, at vtime.Time) {
			qp, at = -1, vtime.Never
			for i := range qps {
				if a, ok := model[i]; ok && a < at {
					qp, at = i, a
				}
			}
			return qp, at
		}
		t.Repeat(map[string]func(*rapid.T){
			"atMost": func(t *rapid.T) {
				i, at := rapid.IntRange(0, qps-1).Draw(t, "qp"), vtime.Time(rapid.Int64Range(0, 30).Draw(t, "at"))
				d.atMost(i, at)
				if was, ok := model[i]; !ok || at < was {
					model[i] = at
				}
			},
			"pop": func(t *rapid.T) {
				want, _ := first()
				if want < 0 {
					t.Skip("empty")
				}
				if got := d.pop(); got != want {
					t.Fatalf("popped %d, want %d of %v", got, want, model)
				}
				delete(model, want)
			},
			"": func(t *rapid.T) {
				if _, want := first(); d.first() != want || len(d.heap) != len(model) {
					t.Fatalf("first %d of %d, want %d of %v", d.first(), len(d.heap), want, model)
				}
			},
		})
	})
}

// No two regions of an endpoint overlap, however many QPs there are, and each is at the address that the peer computes.
func TestRegionsOfManyQPs(t *testing.T) {
	for _, op := range []string{"write", "read"} {
		b := newBed(t, Options{}, "qp count=10000 mtu=256", "load "+op+" msg=1GiB count=1")
		for _, i := range []int{0, 8191, 8192, 9999} {
			for _, va := range []uint64{Target(i), b.layout.source(i), b.layout.inbox(i), readOnly(i)} {
				if !b.memory.memory.Store(va, nil, 1) {
					t.Errorf("%s: nothing at %#x of connection %d", op, va, i)
				}
			}
			if b.memory.memory.Permit(1, badKey, Target(i), 1, 0) {
				t.Errorf("%s: the bad key is good for connection %d", op, i)
			}
		}
	}
}

func TestTooMuchMemory(t *testing.T) {
	_, err := New(lines(t, "qp count=1000", "load write msg=1MiB count=1"), 0, implementation(nil),
		Options{Bytes: true})
	want := "drive: messages of 1MiB on 1000 QPs need 2002MiB of memory; use fewer QPs or smaller messages"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func BenchmarkDeadlines(b *testing.B) {
	var d deadlines
	d.init(5000)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		d.atMost(i*7919%5000, vtime.Time(i))
		if i%4 == 3 {
			d.pop()
		}
	}
}
