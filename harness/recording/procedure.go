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
	known  bool            // a survey was made
	two    bool            // they are of two taps
	only   *trace.Side     // of two taps, the one that counts; nil for all
	apart  [2]bool         // by tap: it shows most frames at two places
	behind []time.Duration // by how much the frames of each source are out of order
	shift  time.Duration   // by how much the clock of the second tap is ahead
	twice  [2]mirrored     // by tap
}

// mirrored is, by the direction of frames, within which time one that was seen before is the same one. Of one tap it is
// the first.
type mirrored map[way]time.Duration

// procedure is what follows from what was found out by reading captures as was.
func (s *survey) procedure(was *procedure) procedure {
	if was.known {
		next := *was
		s.mirrors(&next) // at the next place, if it shows frames at several
		for tap := range was.twice {
			next.apart[tap] = next.apart[tap] || was.apart[tap]
			for on, within := range was.twice[tap] {
				next.twice[tap][on] = max(next.twice[tap][on], within)
			}
		}
		return next
	}
	r := procedure{known: true, two: s.two(), behind: s.behind}
	if r.two {
		r.shift = s.clocks()
	}
	if s.late == 0 {
		s.mirrors(&r)
	}
	return r
}

// mirrors says what a mirror shows twice.
func (s *survey) mirrors(to *procedure) {
	if !to.two {
		to.twice[0], to.apart[0] = s.twice.windows(), s.twice.apart()
		return
	}
	own := [2]mirrored{s.own[0].windows(), s.own[1].windows()}
	for tap := range own {
		to.twice[tap] = maps.Clone(own[tap])
		maps.DeleteFunc(to.twice[tap], func(on way, _ time.Duration) bool {
			// Seen twice in one direction, and once at the other tap: the network repeats what it carries.
			return own[tap][way{on.to, on.from}] == 0 && own[1-tap][on] == 0
		})
		to.apart[tap] = to.twice[tap].apart()
	}
}

// alone is p without the other one of two taps.
func (p *procedure) alone(tap trace.Side) procedure {
	next := *p
	next.two, next.only, next.shift = false, &tap, 0
	next.apart[0], next.twice[0] = p.apart[tap], p.twice[tap]
	return next
}

// tapped reports whether frames say that they were seen at two taps.
func (s *survey) tapped() bool { return s.frames[0] > 0 && s.frames[1] > 0 }

// differs reports whether p reads captures in another way than was did, which took frames for those of two taps or not.
func (p *procedure) differs(was *procedure, tapped bool) bool {
	if was.known {
		return !maps.Equal(p.twice[0], was.twice[0]) || !maps.Equal(p.twice[1], was.twice[1])
	}
	late := slices.ContainsFunc(p.behind, func(d time.Duration) bool { return d > 0 })
	return p.two != tapped || p.shift != 0 || len(p.twice[0])+len(p.twice[1]) > 0 || late
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
		if files && (!r.known || r.two || r.only != nil) {
			src = capture.AtTap{Source: src, Side: trace.Side(i)}
		}
		if r.only != nil {
			src = &seenAt{src, *r.only}
		}
		if len(r.twice[0])+len(r.twice[1]) > 0 {
			src = &once{Source: src, windows: r.twice, two: r.two, skipped: &c.twice}
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
