package recording

import (
	"net/netip"
	"slices"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// Limits of what is remembered to find out whether a mirror shows frames twice, as they come into a switch and as they
// go out.
const (
	twiceSample = 1 << 14          // different frames among which it shows
	twiceEnough = 4 * twiceSample  // frames after which it has shown
	twiceWays   = 1 << 10          // directions between hosts
	twiceMost   = time.Millisecond // from one sight to the other; what is sent again after that was sent again
)

// way is a direction between two hosts.
type way struct{ from, to netip.Addr }

// doubles watches the first frames of each direction for others with the same bytes.
type doubles struct {
	seen  int
	first map[uint64]time.Time // when a frame was seen that may come once more; zero when it has
	ways  map[way]*doubled
}

// doubled is what was seen of a direction.
type doubled struct {
	// distinct frames; one that comes a third time counts again, because a mirror shows retransmissions twice too
	frames int
	after  []time.Duration // from the first sight of each to its second
}

// enough reports whether no further frames need to be shown.
func (d *doubles) enough() bool { return d.seen >= twiceEnough }

// frame takes the sight of a frame.
func (d *doubles) frame(key uint64, on way, at time.Time) {
	d.seen++
	if d.first == nil {
		d.first, d.ways = map[uint64]time.Time{}, map[way]*doubled{}
	}
	w := d.ways[on]
	if w == nil && len(d.ways) < twiceWays {
		w = &doubled{}
		d.ways[on] = w
	}
	if w == nil {
		return
	}
	first, seen := d.first[key]
	switch {
	case seen && first.IsZero(), !seen && len(d.first) < twiceSample:
		d.first[key] = at
		w.frames++
	case seen:
		w.after = append(w.after, at.Sub(first).Abs())
		d.first[key] = time.Time{}
	}
}

// windows returns the directions of which nearly every frame is seen twice, about the same time apart, and within which
// time a frame that was seen before is the same one. Retransmissions come later, because what calls for them has to
// cross the mirror too, and are of some frames only. A mirror that shows one direction twice shows what comes back
// twice, of which more may be lost behind it.
func (d *doubles) windows() mirrored {
	list := mirrored{}
	for on, w := range d.ways {
		if window := w.window(); w.mostly(window, 90) {
			list[on] = window
		}
	}
	for on, w := range d.ways {
		if back, mirrored := list[way{on.to, on.from}]; mirrored && list[on] == 0 && w.mostly(back, 50) {
			list[on] = back
		}
	}
	return list
}

// window is within which time of the first sight of a frame the second one is of the same frame; 0 when there is none.
func (w *doubled) window() time.Duration {
	slices.Sort(w.after)
	if len(w.after) == 0 {
		return 0
	}
	return w.after[len(w.after)/2]*3/2 + time.Microsecond
}

// mostly reports whether so many of a hundred frames were seen again within a window.
func (w *doubled) mostly(window time.Duration, percent int) bool {
	soon, _ := slices.BinarySearch(w.after, window+1)
	return 0 < window && window <= twiceMost && soon*100 >= w.frames*percent
}

// nearMirror is how long after one another a mirror at one place shows a frame twice, at most.
const nearMirror = 10 * time.Microsecond

// apart reports whether most frames of a direction are seen twice, about the same time apart, and so long that it is at
// two places.
func (d *doubles) apart() bool {
	for _, w := range d.ways {
		slices.Sort(w.after)
		if len(w.after) < 8 {
			continue
		}
		middle := w.after[len(w.after)/2]
		from, _ := slices.BinarySearch(w.after, middle/2)
		to, _ := slices.BinarySearch(w.after, middle*3/2)
		if middle > nearMirror && (to-from)*10 > w.frames*6 {
			return true
		}
	}
	return false
}

// apart reports whether what is seen twice is so long apart.
func (m mirrored) apart() bool {
	for _, window := range m {
		if window > 2*nearMirror {
			return true
		}
	}
	return false
}

// once is a source without the frames that were seen before.
type once struct {
	capture.Source
	windows [2]mirrored
	two     bool // frames are of two taps
	skipped *uint64
	at      map[sightKey]time.Time // when they were seen
	order   []sightKey             // a ring
	oldest  int
}

// sightKey is a frame at a tap.
type sightKey struct {
	frame uint64
	tap   trace.Side
}

// Next implements capture.Source.
func (o *once) Next(f *capture.Frame) error {
	for {
		if err := o.Source.Next(f); err != nil {
			return err
		}
		var h roce.Frame
		if h.Decode(f.Raw) != nil && !h.Src.IsValid() {
			return nil
		}
		tap := trace.A
		if o.two {
			tap = f.Tap
		}
		window, doubled := o.windows[tap][way{h.Src, h.Dst}]
		if !doubled || !o.seen(sightKey{capture.PacketKey(f.Raw), tap}, f.Wall, window) {
			return nil
		}
		*o.skipped++
	}
}

// seen reports whether a frame was seen within a time, and remembers those that were not.
func (o *once) seen(key sightKey, at time.Time, window time.Duration) bool {
	before, known := o.at[key]
	if known && at.Sub(before) <= window {
		return true
	}
	if o.at == nil {
		o.at = map[sightKey]time.Time{}
	}
	o.at[key] = at
	switch {
	case known:
	case len(o.order) < echoLimit:
		o.order = append(o.order, key)
	default:
		delete(o.at, o.order[o.oldest])
		o.order[o.oldest] = key
		o.oldest = (o.oldest + 1) % echoLimit
	}
	return false
}

// Stats returns those of the source.
func (o *once) Stats() capture.Stats { return capture.StatsOf(o.Source) }
