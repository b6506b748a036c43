package recording

import (
	"maps"
	"slices"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// procedure is how captures have to be read. The zero procedure takes them as they are.
type procedure struct {
	known  bool                  // a survey was made
	two    bool                  // they are of two taps
	only   *trace.Side           // of two taps, the one that counts; nil for all
	apart  bool                  // most frames were seen at two places
	behind []time.Duration       // by how much the frames of each source are out of order
	shift  time.Duration         // by how much the clock of the second tap is ahead
	twice  map[way]time.Duration // within which time a frame that was seen before is the same one
}

// procedure is what follows from what was found out by reading captures as was.
func (s *survey) procedure(was *procedure) procedure {
	if was.known {
		next := *was
		if next.twice = nil; !next.two {
			next.twice = s.twice.windows() // at the next place, if it shows frames at several
			next.apart = next.apart || s.twice.apart()
		}
		for on, within := range was.twice {
			next.twice[on] = max(next.twice[on], within)
		}
		return next
	}
	r := procedure{known: true, two: s.two(), behind: s.behind}
	switch {
	case r.two:
		r.shift = s.clocks()
	case s.late == 0:
		r.twice, r.apart = s.twice.windows(), s.twice.apart()
	}
	return r
}

// tapped reports whether frames say that they were seen at two taps.
func (s *survey) tapped() bool { return s.frames[0] > 0 && s.frames[1] > 0 }

// differs reports whether p reads captures in another way than was did, which took frames for those of two taps or not.
func (p *procedure) differs(was *procedure, tapped bool) bool {
	if was.known {
		return !maps.Equal(p.twice, was.twice)
	}
	late := slices.ContainsFunc(p.behind, func(d time.Duration) bool { return d > 0 })
	return p.two != tapped || p.shift != 0 || len(p.twice) > 0 || late
}

// apply makes the sources of captures yield their frames so.
func (r *procedure) apply(c *captureFiles) {
	files := len(c.captures) == 2 // each is a tap of its own, if there are two
	for i, in := range c.captures {
		src, behind := capture.Source(in), time.Duration(0)
		if i < len(r.behind) {
			behind = r.behind[i]
		}
		if r.shift != 0 && !files {
			src = capture.Shifted(src, trace.B, -r.shift)
			behind += r.shift.Abs()
		}
		if behind > 0 {
			src = capture.Ordered(src, behind)
		}
		if len(r.twice) > 0 {
			src = &once{Source: src, windows: r.twice, skipped: &c.twice}
		}
		if files && (!r.known || r.two || r.only != nil) {
			src = capture.AtTap{Source: src, Side: trace.Side(i)}
		}
		switch {
		case r.only != nil:
			src = capture.NoTap{Source: &seenAt{src, *r.only}}
		case r.known && !r.two:
			src = capture.NoTap{Source: src}
		case files && r.shift != 0:
			src = capture.Shifted(src, trace.B, -r.shift)
		}
		c.sources[i] = src
	}
}

// seenAt is a source without the frames of another tap.
type seenAt struct {
	capture.Source
	tap trace.Side
}

// Next implements capture.Source.
func (s *seenAt) Next(f *capture.Frame) error {
	for {
		if err := s.Source.Next(f); err != nil || f.Tap == s.tap {
			return err
		}
	}
}

// Stats returns those of the source.
func (s *seenAt) Stats() capture.Stats { return capture.StatsOf(s.Source) }
