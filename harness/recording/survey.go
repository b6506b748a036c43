package recording

import (
	"bytes"
	"net/netip"
	"slices"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Limits of a survey's state.
const (
	echoLimit     = 1 << 16 // frames that only one tap has seen so far
	crossingLimit = 1 << 10 // pairs of hosts
)

// survey collects the evidence for a procedure: whether the captures are of two taps, at which tap each host is, how
// far the clocks of the taps differ, whether frames are in time order, and whether a mirror repeats frames.
type survey struct {
	frames    [2]uint64 // frames with a known tap, by tap
	echoes    map[uint64]echo
	matched   uint64 // frames that both taps saw
	passing   map[way]*passing
	crossings map[[2]netip.Addr]*crossing
	twice     doubles
	own       [2]doubles // doubles at each tap
	behind    []time.Duration
	late      int
	stamps    stamps
}

// echo is the sight of a frame at one tap.
type echo struct {
	tap trace.Side
	at  time.Time
}

// passing is the time span in which the frames of a direction were seen, by tap.
type passing [2]struct{ from, to time.Time }

// crossing holds the times by which the second tap saw frames later than the first tap, by the clocks of the taps: for
// frames of the first host, and for frames of the second.
//
// Some samples may be of two equal frames, such as a lost request and its retransmission.
type crossing [2]samples

// frame processes a frame.
func (s *survey) frame(f *capture.Frame, h *roce.Frame) {
	sample := !s.twice.enough()
	if !sample && !f.HasTap {
		return
	}
	key := capture.PacketKey(f.Raw)
	if sample {
		s.twice.frame(key, way{h.Src, h.Dst}, f.Wall)
	}
	if !f.HasTap {
		return
	}
	s.frames[f.Tap]++
	if sample {
		s.own[f.Tap].frame(key, way{h.Src, h.Dst}, f.Wall)
	}
	s.pass(f, h)
	e, known := s.echoes[key]
	switch {
	case known && e.tap != f.Tap:
		delete(s.echoes, key)
		s.matched++
		s.cross(h.Src, h.Dst, e, f)
	case !known && len(s.echoes) < echoLimit:
		if s.echoes == nil {
			s.echoes = map[uint64]echo{}
		}
		s.echoes[key] = echo{f.Tap, f.Wall}
	}
}

// pass records the time of a frame, until it is clear that there are two taps.
func (s *survey) pass(f *capture.Frame, h *roce.Frame) {
	if s.two() {
		return
	}
	on := way{h.Src, h.Dst}
	p := s.passing[on]
	if p == nil {
		if len(s.passing) == crossingLimit {
			return
		}
		if s.passing == nil {
			s.passing = map[way]*passing{}
		}
		p = new(passing)
		s.passing[on] = p
	}
	if at := &p[f.Tap]; at.from.IsZero() {
		at.from, at.to = f.Wall, f.Wall
	} else if f.Wall.Before(at.from) {
		at.from = f.Wall
	} else if f.Wall.After(at.to) {
		at.to = f.Wall
	}
}

// longest bounds the time of a frame from one tap of a link to the other.
const longest = time.Second

// distant reports whether two taps saw different frames of one direction, in a capture so short that all of them may
// have passed the other tap before or after it. In a longer capture the frames are of one tap, in several files.
func (s *survey) distant() bool {
	if s.two() {
		return false
	}
	for _, p := range s.passing {
		a, b := p[0], p[1]
		if !a.from.IsZero() && !b.from.IsZero() && max(a.to.Sub(b.from), b.to.Sub(a.from)) < longest {
			return true
		}
	}
	return false
}

// cross processes a frame that both taps saw.
func (s *survey) cross(from, to netip.Addr, e echo, f *capture.Frame) {
	pair, way := [2]netip.Addr{from, to}, 0
	if to.Less(from) {
		pair, way = [2]netip.Addr{to, from}, 1
	}
	c := s.crossings[pair]
	if c == nil {
		if len(s.crossings) == crossingLimit {
			return
		}
		if s.crossings == nil {
			s.crossings = map[[2]netip.Addr]*crossing{}
		}
		c = new(crossing)
		s.crossings[pair] = c
	}
	later := vtime.FromStd(f.Wall.Sub(e.at))
	if f.Tap == trace.A {
		later = -later
	}
	c[way].add(later)
}

// stamps derives the resolution of time stamps: the coarsest decimal unit of which all of them are multiples. Files do
// not tell it, because programs convert stamps of microseconds to nanoseconds.
type stamps struct {
	count int
	unit  time.Duration
}

// stampsLeast is the least number of frames for a conclusion; fewer may have round times by chance.
const stampsLeast = 8

func (s *stamps) add(at time.Time) {
	if s.count == 0 {
		s.unit = time.Second
	}
	for s.count++; s.unit > 1 && at.UnixNano()%int64(s.unit) != 0; {
		s.unit /= 10
	}
}

func (s *stamps) tick() time.Duration {
	if s.count < stampsLeast {
		return 0
	}
	return s.unit
}

// lanes records how far the frames of the sources were out of order.
func (s *survey) lanes(l *capture.Lanes) {
	for n := range l.Each() {
		s.behind = append(s.behind, n.Behind)
		s.late += n.Late
	}
}

// two reports whether there are two taps: most frames that passed one of them passed the other too. Captures of one
// direction each, or of different times, are of one tap, whatever their names.
func (s *survey) two() bool {
	return s.matched > 0 && s.matched*3 >= min(s.frames[0], s.frames[1], echoLimit)
}

// sides votes for the tap at which each host is. A host is at the tap that sees its frames first, judged by the
// difference between both directions, which does not depend on the clocks of the taps.
func (s *survey) sides(vote func(netip.Addr, trace.Side, int)) {
	for pair, c := range s.crossings {
		there, back := c[0].usual(), c[1].usual()
		n := len(c[0]) + len(c[1])
		switch {
		case there == back:
			continue
		case there < back:
			n = -n
		}
		vote(pair[0], trace.A, n)
		vote(pair[1], trace.B, n)
	}
}

// clocks returns the time by which the clock of the second tap is ahead of the first, assuming equal delays both ways;
// 0 unless frames of one direction seem to arrive before they are sent.
func (s *survey) clocks() time.Duration {
	var most *crossing
	for _, c := range s.sorted() {
		if len(c[0]) > 0 && len(c[1]) > 0 && (most == nil || len(c[0])+len(c[1]) > len(most[0])+len(most[1])) {
			most = c
		}
	}
	if most == nil {
		return 0
	}
	there, back := most[0].usual(), most[1].usual()
	if min(there, back) <= 0 && max(there, back) >= 0 {
		return 0
	}
	return (there/2 + back/2).Std()
}

// sorted returns the crossings in the order of their addresses.
func (s *survey) sorted() (list []*crossing) {
	var pairs [][2]netip.Addr
	for p := range s.crossings {
		pairs = append(pairs, p)
	}
	slices.SortFunc(pairs, func(a, b [2]netip.Addr) int {
		return bytes.Compare(append(a[0].AsSlice(), a[1].AsSlice()...), append(b[0].AsSlice(), b[1].AsSlice()...))
	})
	for _, p := range pairs {
		list = append(list, s.crossings[p])
	}
	return list
}
