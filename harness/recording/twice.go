package recording

import (
	"net/netip"
	"slices"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/recording/evidence"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// Limits of the state for detecting a mirror that shows frames twice: as they enter a switch and as they leave it.
const (
	twiceSample = 1 << 14          // distinct frames that are compared
	twiceEnough = 4 * twiceSample  // frames after which detection ends
	twiceWays   = 1 << 10          // directions between hosts
	twiceMost   = time.Millisecond // most time between both sights of a frame; a later repetition is a retransmission
)

// way is a direction between two hosts.
type way struct{ from, to netip.Addr }

// doubles compares the first frames of each direction with later frames of the same bytes.
type doubles struct {
	seen    int
	first   map[uint64]int32 // index in sights, by frame
	sights  []double
	ways    map[way]*doubled
	refused map[way][]refusal // the latest NAKs, by the direction of the requests that they ask for
	began   time.Time         // time of the first sight
	ended   time.Time         // time of the latest sight
}

// refusal is a sequence NAK. The requester then goes back to the packet that it names and sends that and all after it
// again, so that one of these that comes again need not be repeated by a mirror.
type refusal struct {
	from  psn.PSN
	began time.Time // when a request with that PSN passed for the first time since; zero for not yet
}

// refusalLimit bounds the NAKs of a direction that are remembered.
const refusalLimit = 8

// asks processes a packet that may be a NAK, or the request that a NAK asks for.
func (d *doubles) asks(p *roce.Packet, on way, at time.Time) {
	if p.Opcode == roce.Acknowledge && p.AETH.Syndrome == roce.SyndromePSNSeqErr {
		back := way{on.to, on.from}
		list := d.refused[back]
		if len(list) == refusalLimit {
			list = slices.Delete(list, 0, 1)
		}
		if d.refused == nil {
			d.refused = map[way][]refusal{}
		}
		if list != nil || len(d.refused) < twiceWays {
			d.refused[back] = append(list, refusal{from: p.PSN})
		}
		return
	}
	for i := range d.refused[on] {
		if r := &d.refused[on][i]; r.began.IsZero() && p.Opcode.IsRequest() && p.PSN == r.from {
			r.began = at
		}
	}
}

// again reports whether a request that was seen at a time before is sent again because of a NAK.
func (d *doubles) again(p *roce.Packet, on way, before time.Time) bool {
	return p.Opcode.IsRequest() && slices.ContainsFunc(d.refused[on], func(r refusal) bool {
		behind := p.PSN.Sub(r.from)
		return before.Before(r.began) && behind >= 0 && behind < evidence.SkipLimit
	})
}

// double holds the latest sights of a frame.
type double struct {
	at    time.Time     // the first of them
	after time.Duration // from it to the second; valid when both is true
	both  bool          // there was a second
	on    *doubled      // its direction
}

// doubled holds the counts of a direction.
type doubled struct {
	// distinct frames; the third sight of a frame counts as a new one, because a mirror repeats retransmissions too,
	// unless it comes as soon as the second: the network duplicates frames
	frames int
	after  []time.Duration // times from the first sight of a frame to its second
	asks   bool            // some of these frames were requests
}

// enough reports whether no more frames are needed.
func (d *doubles) enough() bool { return d.seen >= twiceEnough }

// frame processes a sight of a frame with a packet.
func (d *doubles) frame(key uint64, p *roce.Packet, on way, at time.Time) {
	d.seen++
	d.asks(p, on, at)
	if d.first == nil {
		d.first, d.ways, d.began = map[uint64]int32{}, map[way]*doubled{}, at
	}
	d.ended = at
	w := d.ways[on]
	if w == nil && len(d.ways) < twiceWays {
		w = &doubled{}
		d.ways[on] = w
	}
	if w == nil {
		return
	}
	i, seen := d.first[key]
	if !seen {
		if n := len(d.sights); n < twiceSample {
			d.first[key], d.sights = int32(n), append(d.sights, double{at: at, on: w})
			w.frames++
		}
		return
	}
	x := &d.sights[i]
	since := at.Sub(x.at).Abs()
	switch {
	case x.both && since <= 3*x.after:
	case x.both:
		*x = double{at: at, on: w}
		w.frames++
	case d.again(p, on, x.at): // or by the mirror, at a place that is so far away: it counts for neither
		*x = double{at: at, on: w}
	default:
		w.after, w.asks = append(w.after, since), w.asks || !p.Opcode.IsResponse()
		*x = double{x.at, since, true, w}
	}
}

// windows returns the directions in which nearly every frame is seen twice at about the same interval, with the time
// within which a repetition is the same frame. Retransmissions come later, because the NAK or ACK that causes them has
// to cross the mirror too, and repeat only some frames. A mirror that repeats one direction also repeats the opposite
// one, of which more frames may be lost behind the mirror.
func (d *doubles) windows() mirrored {
	list := mirrored{}
	for on, w := range d.ways {
		window, least := w.window(), mostlyTwice
		if back := d.ways[way{on.to, on.from}]; back != nil && back.near(bothTwice) && w.near(bothTwice) {
			least = bothTwice
		}
		if w.mostly(window, least) {
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

// window returns the time within which a second sight of a frame is a repetition by the mirror; 0 when there are no
// second sights. Frames may wait in the switch for each other: if nearly all come again within the time of a mirror in
// one place, that is how long they took.
func (w *doubled) window() time.Duration {
	slices.Sort(w.after)
	if len(w.after) == 0 {
		return 0
	}
	window := w.after[len(w.after)/2]*3/2 + time.Microsecond
	if nearly := (w.frames*mostlyTwice + 99) / 100; nearly <= len(w.after) && w.after[nearly-1] <= nearMirror {
		window = max(window, w.after[nearly-1]*3/2)
	}
	return window
}

// Least percentages of the frames of a direction that a mirror shows twice: of one direction, and of each if the mirror
// is in one place and repeats both. Behind it, frames are lost.
const (
	mostlyTwice = 90
	bothTwice   = 75
)

// near reports whether at least percent of the frames were seen again as soon as at a mirror in one place.
func (w *doubled) near(percent int) bool {
	window := w.window()
	return window <= nearMirror && w.mostly(window, percent)
}

// mostly reports whether at least percent of the frames were seen again within a window.
func (w *doubled) mostly(window time.Duration, percent int) bool {
	soon, _ := slices.BinarySearch(w.after, window+1)
	return 0 < window && window <= twiceMost && soon*100 >= w.frames*percent
}

// nearMirror is the longest time between both sights of a frame at a mirror in one place.
const nearMirror = 10 * time.Microsecond

// apart reports whether most frames of a direction are seen twice at about the same interval, and not by the mirror in
// one place that windows found; or nearly all of both directions; or nearly all answers, and no request, which would
// have made a responder repeat answers. The sights are at two places then. Go-back-N repeats most requests after a
// round trip when many are lost, and answers are not seen again then.
func (d *doubles) apart(near mirrored) bool {
	for _, w := range d.ways {
		slices.Sort(w.after)
	}
	for on, w := range d.ways {
		if len(w.after) < fewAgain {
			continue
		}
		middle, back := w.after[len(w.after)/2], d.ways[way{on.to, on.from}]
		alone := back == nil || len(back.after) == 0
		switch {
		case middle <= nearMirror && near[on] > 0:
		case len(w.after) >= 2*fewAgain && w.about(middle, 50)*10 > w.frames*6 && !w.resent(middle, back),
			d.nearly(w, middle) && (alone && !w.asks || !alone && d.nearly(back, middle)):
			return true
		}
	}
	return false
}

// fewAgain is the least number of frames of a direction that come again and show two places if they are nearly all.
// Otherwise it takes twice as many.
const fewAgain = 4

// about returns the number of frames that came again after an interval, give or take so many percent.
func (w *doubled) about(interval time.Duration, percent int) int {
	margin := interval * time.Duration(percent) / 100
	from, _ := slices.BinarySearch(w.after, interval-margin)
	to, _ := slices.BinarySearch(w.after, interval+margin)
	return to - from
}

// resent reports whether frames that came again after an interval may be retransmissions: some are requests, some did
// not come again, and none of the opposite direction did.
func (w *doubled) resent(interval time.Duration, back *doubled) bool {
	return w.asks && w.about(interval, 50)*10 <= w.frames*9 &&
		back != nil && back.frames >= 2*fewAgain && back.about(interval, 50) == 0
}

// nearly reports whether nearly all frames of a direction came again after one interval. Those at the edges of the
// capture may have their other sight outside.
func (d *doubles) nearly(w *doubled, interval time.Duration) bool {
	edges := 0
	for i := range d.sights {
		if x := &d.sights[i]; x.on == w && !x.both && min(x.at.Sub(d.began), d.ended.Sub(x.at)) <= interval*11/10 {
			edges++
		}
	}
	again := w.about(interval, 10)
	return again >= fewAgain && again*10 > (w.frames-edges)*9
}

// apart reports whether a window is so long that the sights are at two places.
func (m mirrored) apart() bool {
	for _, window := range m {
		if window > 2*nearMirror {
			return true
		}
	}
	return false
}

// once is a source without repetitions by a mirror.
type once struct {
	capture.Source
	windows [2]mirrored
	two     bool // the source has frames of two taps
	skipped *uint64
	alone   *uint64            // frames seen again beyond the window, and then not twice
	single  *uint64            // frames seen once only, and not at the edges of the capture
	began   time.Time          // time of the first frame
	latest  time.Time          // time of the latest frame
	at      map[sightKey]sight // the latest sight of each frame in order
	order   []sightKey         // a ring
	oldest  int
}

// sight is the latest sight of a frame that was not left out.
type sight struct {
	at      time.Time
	window  time.Duration // within which the mirror repeats it
	again   bool          // it was seen before, longer than a window ago
	twice   bool          // the mirror repeated it
	counted bool          // it was added to once.single
}

// sightKey identifies a frame at a tap.
type sightKey struct {
	frame uint64
	tap   trace.Side
}

// Next implements capture.Source.
func (o *once) Next(f *capture.Frame) error {
	for {
		if err := o.Source.Next(f); err != nil {
			o.end()
			return err
		}
		if o.latest = f.Wall; o.began.IsZero() {
			o.began = f.Wall
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
		if !doubled || !o.seen(sightKey{capture.SightKey(f.Raw), tap}, f.Wall, window) {
			return nil
		}
		*o.skipped++
	}
}

// seen reports whether a frame was seen within window before, and records it if not. A frame that is seen again later
// is a retransmission, which the mirror repeats too. Once more alone it may be the late second sight of the frame
// before, which waited in a queue or overtook others, or a retransmission that was lost behind the mirror.
func (o *once) seen(key sightKey, at time.Time, window time.Duration) bool {
	before, known := o.at[key]
	if known && at.Sub(before.at) <= window {
		if before.again && !before.twice {
			*o.alone--
		}
		if before.counted && !before.twice {
			*o.single--
		}
		before.twice = true
		o.at[key] = before
		return true
	}
	if known {
		*o.alone++
	}
	counted := at.Sub(o.began) > window // otherwise its first sight may have preceded the capture
	if counted {
		*o.single++
	}
	if o.at == nil {
		o.at = map[sightKey]sight{}
	}
	o.at[key] = sight{at: at, window: window, again: known, counted: counted}
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

// end takes the frames whose second sight may follow the capture out of single.
func (o *once) end() {
	for key, x := range o.at {
		if x.counted && !x.twice && o.latest.Sub(x.at) <= x.window {
			*o.single--
			x.counted = false
			o.at[key] = x
		}
	}
}

// Stats returns those of the source.
func (o *once) Stats() capture.Stats { return capture.StatsOf(o.Source) }
