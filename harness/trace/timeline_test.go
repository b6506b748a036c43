package trace

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// watcher records the sights that a viewer is shown.
type watcher struct{ lines []string }

func (w *watcher) Sight(s *Sight) {
	dir := "in"
	if s.Out {
		dir = "out"
	}
	w.lines = append(w.lines, fmt.Sprintf("%d %v %s #%d psn=%v %s", s.At, s.Tap, dir, s.Index, s.Pkt.PSN, s.Raw))
}
func (w *watcher) Event(e *Event) {
	w.lines = append(w.lines, fmt.Sprintf("%d %v %v", e.At, e.Side, e.Kind))
}
func (w *watcher) End(at vtime.Time) { w.lines = append(w.lines, fmt.Sprintf("%d end", at)) }

func rec(sent, recv vtime.Time, from Side, n uint32) *Record {
	r := &Record{Sent: sent, Recv: recv, From: from, Fate: Delivered}
	r.Packet.PSN = r.Packet.PSN.Add(int(n))
	return r
}

// copied returns a copy of the record that rec makes.
func copied(recv vtime.Time, from Side, n uint32) *Record {
	r := rec(vtime.Never, recv, from, n)
	r.Copy = true
	return r
}

func TestTimelineOrder(t *testing.T) {
	changed := rec(30, 40, A, 7)
	changed.Raw = []byte("sent")
	changed.Changed = &Change{Packet: roce.Packet{}, Raw: []byte("got")}
	lateSend := rec(60, 55, B, 8) // two clocks: received before it was sent
	for _, tc := range []struct {
		name string
		taps [2]bool
		feed func(s Sink)
		want string
	}{
		{"arrival before completion before departure", [2]bool{true, true}, func(s Sink) {
			s.Packet(rec(0, 10, A, 1))
			s.Event(&Event{At: 10, Side: B, Kind: CQE})
			s.Packet(rec(10, 20, B, 2))
			s.End(25)
		}, "0 A out #0 psn=1 |10 B in #0 psn=1 |10 B cqe|10 B out #1 psn=2 |20 A in #1 psn=2 |25 end"},
		{"in flight at the end", [2]bool{true, true}, func(s Sink) {
			s.Packet(rec(0, 10, A, 1))
			s.Packet(rec(1, 11, A, 2))
			s.End(10)
		}, "0 A out #0 psn=1 |1 A out #1 psn=2 |10 B in #0 psn=1 |10 end"},
		{"overtaking, loss and injection", [2]bool{true, true}, func(s Sink) {
			s.Packet(rec(0, 50, A, 1))
			s.Packet(rec(1, 20, A, 2))
			s.Packet(rec(2, vtime.Never, A, 3))
			s.Packet(rec(vtime.Never, 20, A, 4))
			s.Packet(rec(21, 21, A, 5))
			s.End(60)
		}, "0 A out #0 psn=1 |1 A out #1 psn=2 |2 A out #2 psn=3 |20 B in #1 psn=2 |20 B in #3 psn=4 |" +
			"21 A out #4 psn=5 |21 B in #4 psn=5 |50 B in #0 psn=1 |60 end"},
		{"a copy takes as long as the next packet", [2]bool{true, true}, func(s Sink) {
			s.Packet(rec(0, 10, A, 1))
			s.Packet(rec(4, 14, A, 2))
			s.Packet(rec(7, 14, B, 3))
			s.Packet(copied(14, A, 1))
			s.Packet(rec(14, 24, A, 4))
			s.End(20)
		}, "0 A out #0 psn=1 |4 A out #1 psn=2 |7 B out #2 psn=3 |10 B in #0 psn=1 |14 B in #3 psn=1 |14 B in #1 " +
			"psn=2 |14 A in #2 psn=3 |14 A out #4 psn=4 |20 end"},
		{"copies on a line without a rate", [2]bool{true, true}, func(s Sink) {
			s.Packet(rec(0, 10, A, 1))
			s.Packet(rec(0, 10, A, 2))
			s.Packet(rec(0, 10, A, 3))
			s.Packet(copied(10, A, 2))
			s.Packet(copied(10, A, 2))
			s.Packet(copied(10, A, 3))
			s.End(10)
		}, "0 A out #0 psn=1 |0 A out #1 psn=2 |0 A out #2 psn=3 |10 B in #0 psn=1 |10 B in #1 psn=2 |10 B in #3 " +
			"psn=2 |10 B in #4 psn=2 |10 B in #2 psn=3 |10 B in #5 psn=3 |10 end"},
		{"a copy of one that was overtaken", [2]bool{true, true}, func(s Sink) {
			s.Packet(rec(0, 50, A, 1))
			s.Packet(rec(1, 40, A, 2))
			s.Packet(rec(2, 50, A, 3))
			s.Packet(copied(40, A, 2))
			s.Packet(copied(50, A, 1))
			s.End(50)
		}, "0 A out #0 psn=1 |1 A out #1 psn=2 |2 A out #2 psn=3 |40 B in #1 psn=2 |40 B in #3 psn=2 |50 B in #0 " +
			"psn=1 |50 B in #4 psn=1 |50 B in #2 psn=3 |50 end"},
		{"changed in transit", [2]bool{true, true}, func(s Sink) {
			s.Packet(changed)
			s.End(60)
		}, "30 A out #0 psn=7 sent|40 B in #0 psn=0 got|60 end"},
		{"one tap", [2]bool{false, true}, func(s Sink) {
			s.Packet(rec(0, 10, A, 1))
			s.Packet(rec(11, 20, B, 2))
			s.End(60)
		}, "10 B in #0 psn=1 |11 B out #1 psn=2 |60 end"},
		{"clocks apart", [2]bool{true, true}, func(s Sink) {
			s.Packet(rec(50, 60, A, 1))
			s.Packet(lateSend)
			s.End(60)
		}, "50 A out #0 psn=1 |55 A in #1 psn=8 |60 B in #0 psn=1 |60 B out #1 psn=8 |60 end"},
	} {
		w := &watcher{}
		tc.feed(NewTimeline(&Header{Taps: tc.taps}, w))
		if d := cmp.Diff(strings.Split(tc.want, "|"), w.lines); d != "" {
			t.Errorf("%s: (-want +got)\n%s", tc.name, d)
		}
	}
}

// A record belongs to the caller again after the call: waiting sights must not change with it.
func TestTimelineKeepsWaitingBytes(t *testing.T) {
	for _, shared := range []bool{true, false} {
		var got string
		tl := NewTimeline(&Header{Taps: [2]bool{false, true}}, sightFunc(func(s *Sight) {
			got += string(s.Raw) + "/" + string(s.Pkt.Payload) + " "
		}))
		r := rec(0, 10, A, 1)
		for i := range 3 {
			r.Sent, r.Recv = vtime.Time(i), vtime.Time(10+i)
			r.Raw = []byte(fmt.Sprintf("head%d", i))
			r.Packet.Payload = r.Raw[2:]
			if !shared {
				r.Packet.Payload = []byte(fmt.Sprintf("ad%d", i))
			}
			tl.Packet(r)
			copy(r.Raw, "-----")
			copy(r.Packet.Payload, "---")
		}
		tl.End(20)
		if want := "head0/ad0 head1/ad1 head2/ad2 "; got != want {
			t.Errorf("shared=%v: saw %q, want %q", shared, got, want)
		}
	}
}

// Sights of borrowed records are those of copied records, although the owner reuses the records after the lease.
func TestTimelineBorrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var copied, borrowed watcher
		h := Header{Taps: [2]bool{true, true}}
		a, b := NewTimeline(&h, &copied), NewTimeline(&h, &borrowed)
		batches := make([]struct {
			records [4]Record
			lease   Lease
		}, 8)
		now := vtime.Time(0)
		for i := range rapid.IntRange(0, 100).Draw(t, "n") {
			batch := &batches[i%len(batches)]
			if batch.lease > 0 { // the batch is still lent
				batch = new(struct {
					records [4]Record
					lease   Lease
				})
			}
			b.Borrow(&batch.lease)
			for k := range batch.records {
				now += vtime.Time(rapid.IntRange(0, 3).Draw(t, "gap"))
				r := rec(now, now+vtime.Time(rapid.IntRange(0, 40).Draw(t, "delay")), Side(k&1), uint32(4*i+k))
				a.Packet(r)
				batch.records[k] = *r
				b.Packet(&batch.records[k])
			}
		}
		a.End(now + 40)
		b.End(now + 40)
		if d := cmp.Diff(copied.lines, borrowed.lines); d != "" {
			t.Fatalf("(-copied +borrowed)\n%s", d)
		}
		for i := range batches {
			if batches[i].lease != 0 {
				t.Fatalf("%d records of batch %d wait after the end", batches[i].lease, i)
			}
		}
	})
}

type sightFunc func(*Sight)

func (f sightFunc) Sight(s *Sight) { f(s) }
func (sightFunc) Event(*Event)     {}
func (sightFunc) End(vtime.Time)   {}

// Every sight is shown once and in time order, however the link reorders.
func TestTimelineIsASort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 200).Draw(t, "n")
		var want, got []vtime.Time
		tl := NewTimeline(&Header{Taps: [2]bool{true, true}}, sightFunc(func(s *Sight) { got = append(got, s.At) }))
		now := vtime.Time(0)
		for range n {
			now += vtime.Time(rapid.IntRange(0, 3).Draw(t, "gap"))
			at := [2]vtime.Time{now, now + vtime.Time(rapid.IntRange(0, 40).Draw(t, "delay"))}
			swap := rapid.IntRange(0, 1).Draw(t, "swap")
			tl.Packet(rec(at[swap], at[1-swap], Side(rapid.IntRange(0, 1).Draw(t, "side")), 0))
			want = append(want, at[:]...)
		}
		tl.End(now + 40)
		slices.Sort(want)
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("sights out of order (-want +got)\n%s", d)
		}
	})
}

func TestTimelineDoesNotAllocate(t *testing.T) {
	tl := NewTimeline(&Header{Taps: [2]bool{true, true}}, sightFunc(func(*Sight) {}))
	r := rec(0, 0, A, 0)
	r.Raw = make([]byte, 100)
	r.Changed = &Change{Raw: make([]byte, 100)}
	now := vtime.Time(0)
	step := func() {
		for range 1000 {
			now += 10
			r.Sent, r.Recv = now, now+5000
			if now%70 == 0 {
				r.Recv -= 900
			}
			tl.Packet(r)
		}
	}
	step()
	if n := testing.AllocsPerRun(10, step); n != 0 {
		t.Errorf("%v allocations per 1000 records in steady state, want 0", n)
	}
}

// The path holds 500 packets, or 45 000, which is 1 ms at 400 Gb/s.
func BenchmarkTimeline(b *testing.B) {
	for _, held := range []int{500, 45_000} {
		b.Run(fmt.Sprint(held), func(b *testing.B) {
			tl := NewTimeline(&Header{Taps: [2]bool{true, true}}, sightFunc(func(*Sight) {}))
			r := rec(0, 0, A, 0)
			b.ReportAllocs()
			for i := range b.N {
				r.Sent = vtime.Time(i) * 10
				r.Recv = r.Sent + vtime.Time(held)*10
				tl.Packet(r)
			}
		})
	}
}
