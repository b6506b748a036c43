package degrade

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/splitmix"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Harm is a kind of damage to a recording. Random choices are drawn from the stream.
type Harm struct {
	Name string
	To   func(Recording, splitmix.Stream) Recording

	// Breaks are the properties that a bench would no longer certify; 0 when every frame is present with its right
	// time.
	Breaks validity.Property

	// Hides is true when frames, or digits of their times, are lost, and perhaps with them the evidence of a violation.
	Hides bool
}

// Harms are all kinds of damage; the first is none.
var Harms = []Harm{
	{Name: "none", To: func(r Recording, _ splitmix.Stream) Recording { return r }},
	{Name: "no head", Hides: true, Breaks: validity.Capture,
		To: func(r Recording, s splitmix.Stream) Recording { return r.window(0.05+0.6*s.Uniform(0), 1) }},
	{Name: "no tail", Hides: true,
		To: func(r Recording, s splitmix.Stream) Recording { return r.window(0, 0.3+0.6*s.Uniform(0)) }},
	{Name: "a stretch", Hides: true, Breaks: validity.Capture, To: func(r Recording, s splitmix.Stream) Recording {
		from := 0.6 * s.Uniform(0)
		return r.window(from, from+0.3)
	}},
	{Name: "a tap begins late", Hides: true, Breaks: validity.Capture,
		To: func(r Recording, s splitmix.Stream) Recording { return r.late(s) }},
	{Name: "128 bytes kept", Breaks: validity.Capture, To: func(r Recording, _ splitmix.Stream) Recording {
		return r.cut(128)
	}},
	{Name: "64 bytes kept", Breaks: validity.Capture, To: func(r Recording, _ splitmix.Stream) Recording {
		return r.cut(64)
	}},
	{Name: "1% missed", Hides: true, Breaks: validity.Capture,
		To: func(r Recording, s splitmix.Stream) Recording { return r.miss(s, 0.01, trace.A, trace.B) }},
	{Name: "10% missed", Hides: true, Breaks: validity.Capture,
		To: func(r Recording, s splitmix.Stream) Recording { return r.miss(s, 0.1, trace.A, trace.B) }},
	{Name: "10% of A's missed", Hides: true, Breaks: validity.Capture,
		To: func(r Recording, s splitmix.Stream) Recording { return r.miss(s, 0.1, trace.A) }},
	{Name: "10% of B's missed", Hides: true, Breaks: validity.Capture,
		To: func(r Recording, s splitmix.Stream) Recording { return r.miss(s, 0.1, trace.B) }},
	{Name: "bursts missed", Hides: true, Breaks: validity.Capture,
		To: func(r Recording, s splitmix.Stream) Recording { return r.bursts(s) }},
	{Name: "10% missed, not counted", Hides: true, Breaks: validity.Capture,
		To: func(r Recording, s splitmix.Stream) Recording {
			r.Form.Uncounted = true
			return r.miss(s, 0.1, trace.A, trace.B)
		}},
	{Name: "clock shifted", Breaks: validity.Clock | validity.Accounts,
		To: func(r Recording, s splitmix.Stream) Recording { return r.shift(s) }},
	{Name: "clock drifts", Breaks: validity.Clock | validity.Accounts,
		To: func(r Recording, s splitmix.Stream) Recording { return r.drift(s) }},
	{Name: "microseconds", Hides: true,
		To: func(r Recording, _ splitmix.Stream) Recording { r.Form.Micro = true; return r }},
	{Name: "disorder", Breaks: validity.Capture | validity.Clock, To: func(r Recording, s splitmix.Stream) Recording {
		return r.disorder(s)
	}},
	{Name: "5% twice", Breaks: validity.Capture, To: func(r Recording, s splitmix.Stream) Recording {
		return r.twice(s)
	}},
	{Name: "foreign traffic", To: func(r Recording, s splitmix.Stream) Recording { return r.among(s) }},
	{Name: "raw IP", To: func(r Recording, _ splitmix.Stream) Recording { r.Form.RawIP = true; return r }},
	{Name: "directions told", To: func(r Recording, _ splitmix.Stream) Recording {
		r.Form.Ways = !r.Between
		return r
	}},
	{Name: "no set-up", Hides: true, Breaks: validity.Capture,
		To: func(r Recording, _ splitmix.Stream) Recording { return r.without(ofSetUp) }},
}

// window keeps the frames between two points in time, given as fractions of the duration.
func (r Recording) window(from, to float64) Recording {
	first, last := r.span()
	length := float64(last.Sub(first))
	begin, end := first.Add(vtime.Duration(from*length)), first.Add(vtime.Duration(to*length))
	return r.without(func(f *Frame) bool { return f.At < begin || f.At > end })
}

// late removes the first frames of one tap only.
func (r Recording) late(s splitmix.Stream) Recording {
	which := int(s.At(1) % uint64(max(1, len(r.Taps))))
	cut := r.window(0.5*s.Uniform(0), 1)
	return r.each(func(tap int, frames []Frame) []Frame {
		if tap == which {
			return cut.Taps[tap]
		}
		return frames
	})
}

// without removes the frames for which drop returns true.
func (r Recording) without(drop func(*Frame) bool) Recording {
	return r.each(func(_ int, frames []Frame) []Frame {
		return slices.DeleteFunc(slices.Clone(frames), func(f Frame) bool { return drop(&f) })
	})
}

// ofSetUp reports whether a frame is of connection management.
func ofSetUp(f *Frame) bool {
	var h roce.Frame
	return h.Decode(f.Raw) == nil && h.Packet.DestQP == roce.CMQueuePair
}

// cut keeps at most most bytes of each frame.
func (r Recording) cut(most int) Recording {
	return r.each(func(_ int, frames []Frame) []Frame {
		frames = slices.Clone(frames)
		for i := range frames {
			frames[i].Kept = min(frames[i].Kept, most)
		}
		return frames
	})
}

// miss removes each frame of the senders in from with probability share.
func (r Recording) miss(s splitmix.Stream, share float64, from ...trace.Side) Recording {
	n := uint64(0)
	return r.misses(func(f *Frame) bool { n++; return slices.Contains(from, f.From) && s.Below(n, share) })
}

// bursts removes runs of 1 to 32 frames; 2 % of the frames begin a run.
func (r Recording) bursts(s splitmix.Stream) Recording {
	n, left := uint64(0), uint64(0)
	return r.misses(func(*Frame) bool {
		if n++; left == 0 && s.Below(2*n, 0.02) {
			left = 1 + s.At(2*n+1)%32
		}
		missed := left > 0
		left -= min(left, 1)
		return missed
	})
}

// shift shifts the clock of the last tap by up to 5 ms either way.
func (r Recording) shift(s splitmix.Stream) Recording {
	by := vtime.Duration((s.Uniform(0) - 0.5) * float64(10*vtime.Millisecond))
	return r.clock(func(d vtime.Duration) vtime.Duration { return d + by })
}

// drift makes the clock of the last tap drift by up to 200 ppm either way.
func (r Recording) drift(s splitmix.Stream) Recording {
	rate := 1 + (s.Uniform(0)-0.5)*400e-6
	return r.clock(func(d vtime.Duration) vtime.Duration { return vtime.Duration(float64(d) * rate) })
}

// clock changes the times of the last tap, counted from the first frame of all.
func (r Recording) clock(f func(vtime.Duration) vtime.Duration) Recording {
	first, _ := r.span()
	return r.each(func(tap int, frames []Frame) []Frame {
		if tap != len(r.Taps)-1 {
			return frames
		}
		frames = slices.Clone(frames)
		for i := range frames {
			frames[i].At = first.Add(f(frames[i].At.Sub(first)))
		}
		return frames
	})
}

// disorder puts frames out of order, as in captures from several queues: each is written up to 10 µs late, with its own
// time.
func (r Recording) disorder(s splitmix.Stream) Recording {
	const most = 10 * vtime.Microsecond
	n := uint64(0)
	return r.each(func(_ int, frames []Frame) []Frame {
		type placed struct {
			Frame
			key vtime.Time
		}
		list := make([]placed, len(frames))
		for i, f := range frames {
			n++
			list[i] = placed{f, f.At.Add(vtime.Duration(s.At(n) % uint64(most)))}
		}
		slices.SortStableFunc(list, func(a, b placed) int { return int(max(-1, min(1, a.key-b.key))) })
		frames = make([]Frame, len(list))
		for i := range list {
			frames[i] = list[i].Frame
		}
		return frames
	})
}

// twice repeats 5 % of the frames of the last tap, a microsecond later. Only one tap is changed, because a frame that
// both taps show twice was sent twice.
func (r Recording) twice(s splitmix.Stream) Recording {
	n := uint64(0)
	return r.each(func(tap int, frames []Frame) []Frame {
		if tap != len(r.Taps)-1 {
			return frames
		}
		all := slices.Clone(frames)
		for _, f := range frames {
			if n++; s.Below(n, 0.05) {
				f.At = f.At.Add(vtime.Microsecond)
				all = append(all, f)
			}
		}
		return inOrder(all)
	})
}

// among inserts frames of foreign traffic.
func (r Recording) among(s splitmix.Stream) Recording {
	n := uint64(0)
	return r.each(func(_ int, frames []Frame) []Frame {
		var all []Frame
		for _, f := range frames {
			all = append(all, f)
			if n++; s.Below(n, 0.2) {
				raw := foreign(s.At(n))
				all = append(all, Frame{At: f.At, Raw: raw, Kept: len(raw), From: f.From, Out: f.Out})
			}
		}
		return all
	})
}
