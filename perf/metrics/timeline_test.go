package metrics

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/google/go-cmp/cmp"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

const usec = vtime.Microsecond

func TestTimelineDoubles(t *testing.T) {
	b := newBins()
	b.start = 1000
	for i := range binLimit {
		b.add(b.start.Add(vtime.Duration(i)*usec), 1)
	}
	if got := b.timeline(binLimit * usec); got.Step != usec || len(got.Bytes) != binLimit || got.Start != 1000 {
		t.Errorf("before: step %v, %d intervals", got.Step, len(got.Bytes))
	}
	b.add(b.start.Add(binLimit*usec), 5)
	got := b.timeline(binLimit * usec)
	if got.Step != 2*usec || len(got.Bytes) != binLimit/2+1 || got.Bytes[0] != 2 || got.Bytes[binLimit/2] != 5 {
		t.Errorf("after: step %v, %d intervals, first %d, last %d", got.Step, len(got.Bytes), got.Bytes[0],
			got.Bytes[len(got.Bytes)-1])
	}
}

// The timeline of a run that ends by its duration includes the silence at the end.
func TestTimelineOfTimedRunReachesItsEnd(t *testing.T) {
	b := newBins()
	b.add(0, 7)
	got := b.timeline(10 * vtime.Millisecond)
	want := Timeline{Step: 32 * usec, Bytes: make([]int64, 313)}
	want.Bytes[0] = 7
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if got := b.timeline(0); len(got.Bytes) != 0 {
		t.Errorf("%d intervals of no time", len(got.Bytes))
	}
}

func TestTimelineKeepsEveryByte(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, at, total := newBins(), vtime.Time(0), int64(0)
		for range rapid.IntRange(1, 100).Draw(t, "deliveries") {
			at = at.Add(vtime.Duration(rapid.Int64Range(0, int64(vtime.Second)).Draw(t, "later")))
			n := rapid.Int64Range(1, 1<<20).Draw(t, "bytes")
			total += n
			b.add(at, n)
		}
		got := b.timeline(
			vtime.Duration(at) + rapid.SampledFrom([]vtime.Duration{1, usec, vtime.Second}).Draw(t, "silence"))
		sum := int64(0)
		for _, n := range got.Bytes {
			sum += n
		}
		if sum != total || len(got.Bytes) > binLimit {
			t.Fatalf("%d bytes in %d intervals, want %d bytes", sum, len(got.Bytes), total)
		}
	})
}
