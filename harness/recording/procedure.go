package recording

import (
	"maps"
	"slices"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// procedure is the way in which captures have to be read. The zero procedure reads them unchanged.
type procedure struct {
	known  bool            // a survey was made
	two    bool            // the captures are of two taps
	only   *trace.Side     // the only tap to use of two; nil for all
	apart  [2]bool         // by tap: the tap sees most frames at two places
	behind []time.Duration // by source: the most by which frames are out of order
	shift  time.Duration   // time by which the clock of the second tap is ahead
	tick   time.Duration   // resolution of the time stamps
	twice  [2]mirrored     // by tap: the directions that a mirror repeats
}

// mirrored is, by the direction of frames, the time within which a repeated frame is the same frame. For one tap the
// first element of procedure.twice is used.
type mirrored map[way]time.Duration

// procedure returns the next procedure, from a survey of captures that were read by procedure was.
func (s *survey) procedure(was *procedure) procedure {
	if was.known {
		next := *was
		s.mirrors(&next) // again, since a tap may see frames at more than two places
		for tap := range was.twice {
			next.apart[tap] = next.apart[tap] || was.apart[tap]
			for on, within := range was.twice[tap] {
				next.twice[tap][on] = max(next.twice[tap][on], within)
			}
		}
		return next
	}
	r := procedure{known: true, two: s.two(), behind: s.behind, tick: s.stamps.tick()}
	if r.two {
		r.shift = s.clocks()
	}
	if s.late == 0 {
		s.mirrors(&r)
	}
	return r
}

// mirrors sets twice and apart of a procedure from the frames that were seen twice.
func (s *survey) mirrors(to *procedure) {
	if !to.two {
		to.twice[0] = s.twice.windows()
		to.apart[0] = s.twice.apart(to.twice[0])
		return
	}
	own := [2]mirrored{s.own[0].windows(), s.own[1].windows()}
	for tap := range own {
		to.twice[tap] = maps.Clone(own[tap])
		maps.DeleteFunc(to.twice[tap], func(on way, _ time.Duration) bool {
			// A direction that is seen twice at this tap, and once at the other tap and in the opposite direction: the
			// network duplicates frames.
			return own[tap][way{on.to, on.from}] == 0 && own[1-tap][on] == 0
		})
		to.apart[tap] = to.twice[tap].apart()
	}
}

// alone returns p with only one of the two taps.
func (p *procedure) alone(tap trace.Side) procedure {
	next := *p
	next.two, next.only, next.shift = false, &tap, 0
	next.apart[0], next.twice[0] = p.apart[tap], p.twice[tap]
	return next
}

// tapped reports whether frames name two taps.
func (s *survey) tapped() bool { return s.frames[0] > 0 && s.frames[1] > 0 }

// differs reports whether p reads captures in another way than was; tapped is whether the zero procedure takes the
// frames for those of two taps.
func (p *procedure) differs(was *procedure, tapped bool) bool {
	if was.known {
		return !maps.Equal(p.twice[0], was.twice[0]) || !maps.Equal(p.twice[1], was.twice[1])
	}
	late := slices.ContainsFunc(p.behind, func(d time.Duration) bool { return d > 0 })
	return p.two != tapped || p.shift != 0 || len(p.twice[0])+len(p.twice[1]) > 0 || late
}

// apply changes the sources of the captures so that they yield frames by the procedure.
func (r *procedure) apply(c *captureFiles) {
	files := len(c.captures) == 2 // two files are two taps
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
		if files && (!r.known || r.two || r.only != nil) {
			src = capture.AtTap{Source: src, Side: trace.Side(i)}
		}
		if r.only != nil {
			src = &seenAt{src, *r.only}
		}
		if len(r.twice[0])+len(r.twice[1]) > 0 {
			src = &once{Source: src, windows: r.twice, two: r.two, skipped: &c.twice, alone: &c.alone,
				single: &c.single}
		}
		switch {
		case r.only != nil, r.known && !r.two:
			src = capture.NoTap{Source: src}
		case files && r.shift != 0:
			src = capture.Shifted(src, trace.B, -r.shift)
		}
		c.sources[i] = src
	}
}

// seenAt is a source with the frames of one tap only.
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
