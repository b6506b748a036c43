package recording

import (
	"cmp"
	"encoding/binary"
	"iter"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/recording/evidence"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Limits of a survey's state.
const (
	echoLimit     = 1 << 16 // distinct frames that are compared between the taps
	crossingLimit = 1 << 10 // pairs of hosts
)

// survey collects the evidence for a procedure: whether the captures are of two taps, at which tap each host is, how
// far the clocks of the taps differ, whether frames are in time order, and whether a mirror repeats frames.
type survey struct {
	frames    [2]uint64 // frames with a known tap, by tap
	echoes    map[uint64]echo
	matched   uint64                 // frames that both taps saw
	damaged   map[netip.Addr]*[2]int // frames with a wrong ICRC by sender and tap
	passing   map[way]*passing
	crossings map[[2]netip.Addr]*crossing
	twice     doubles
	own       [2]doubles // doubles at each tap
	behind    []time.Duration
	late      int
	back      bool // many frames in a row are out of order
	stamps    stamps
}

// echo is the latest sight of a frame that the other tap has not matched, or a matched one.
type echo struct {
	tap     trace.Side
	at      time.Time
	matched bool
	again   bool // a tap saw the frame more than once: sights of both taps may be of different transmissions
	delay   *delay
}

// delay is the time by which the second tap saw a frame later than the first tap.
type delay struct {
	later vtime.Duration
	again bool // the sights may be of different transmissions
	mixed bool // the first tap saw the frame once more after the second, so that either may be the first
}

// passing is the time span in which the frames of a direction were seen, by tap.
type passing [2]struct{ from, to time.Time }

// crossing holds the delays of frames between the taps, by their clocks: those of the first host, and of the second.
type crossing [2][]*delay

// usual returns the usual delay of the frames of a host: of those that each tap saw once, unless they are too few. One
// that a tap saw before and after the other tells nothing: the tap may be its sender's, or the other may have missed
// the first transmission.
func (c *crossing) usual(way int) vtime.Duration {
	var once, all evidence.Samples
	for _, d := range c[way] {
		if !d.mixed {
			all.Add(d.later)
		}
		if !d.again {
			once.Add(d.later)
		}
	}
	if len(once) >= evidence.Fewest {
		return once.Usual()
	}
	return all.Usual()
}

// frame processes a frame.
func (s *survey) frame(f *capture.Frame, h *roce.Frame) {
	sample := !s.twice.enough()
	if !sample && !f.HasTap {
		return
	}
	key := printOf(f, h)
	if sample {
		s.twice.frame(key, &h.Packet, way{h.Src, h.Dst}, f.Wall)
	}
	if !f.HasTap {
		return
	}
	s.frames[f.Tap]++
	if sample {
		s.own[f.Tap].frame(key, &h.Packet, way{h.Src, h.Dst}, f.Wall)
	}
	s.pass(f, h)
	s.echo(key, way{h.Src, h.Dst}, f)
}

// echo matches a sight with one at the other tap.
func (s *survey) echo(key uint64, on way, f *capture.Frame) {
	e, known := s.echoes[key]
	switch {
	case known && !e.matched && e.tap != f.Tap:
		s.matched++
		if e.matched = true; e.delay == nil {
			e.delay = s.cross(on, e, f)
		}
	case known:
		if e.again = true; e.matched {
			if e.delay != nil && e.tap == f.Tap {
				e.delay.mixed = true
			}
			e.tap, e.at, e.matched = f.Tap, f.Wall, false
		}
	case len(s.echoes) < echoLimit:
		e = echo{tap: f.Tap, at: f.Wall}
	default:
		return
	}
	if e.delay != nil {
		e.delay.again = e.again
	}
	if s.echoes == nil {
		s.echoes = map[uint64]echo{}
	}
	s.echoes[key] = e
}

// damage counts a frame with a wrong ICRC.
func (s *survey) damage(f *capture.Frame, from netip.Addr) {
	if !f.HasTap {
		return
	}
	n := s.damaged[from]
	if n == nil {
		if len(s.damaged) == crossingLimit {
			return
		}
		if s.damaged == nil {
			s.damaged = map[netip.Addr]*[2]int{}
		}
		n = new([2]int)
		s.damaged[from] = n
	}
	n[f.Tap]++
}

// damages reports whether frames of one of the hosts were damaged between the taps. Then they may have been damaged
// before the first one as well, if that is not at the port of their sender.
func (s *survey) damages(h *trace.Header) bool {
	for i := range h.Conns {
		for side, e := range h.Conns[i].Ends {
			if n := s.damaged[e.Addr]; n != nil && n[1-side] > n[side] {
				return true
			}
		}
	}
	return false
}

// printOf returns a hash by which sights of one frame are found. A right ICRC stands for all the bytes that it covers;
// the others are those that the path may change.
func printOf(f *capture.Frame, h *roce.Frame) uint64 {
	if !f.Sound {
		return capture.SightKey(f.Raw)
	}
	icrc, _, _ := roce.FieldSpan(f.Raw, "icrc")
	return uint64(binary.LittleEndian.Uint32(f.Raw[icrc:]))<<32 | uint64(h.Packet.PSN)
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

// cross records the delay of a frame that both taps saw; it returns nil when there is no room.
func (s *survey) cross(on way, e echo, f *capture.Frame) *delay {
	pair, way := [2]netip.Addr{on.from, on.to}, 0
	if on.to.Less(on.from) {
		pair, way = [2]netip.Addr{on.to, on.from}, 1
	}
	c := s.crossings[pair]
	if c == nil {
		if len(s.crossings) == crossingLimit {
			return nil
		}
		if s.crossings == nil {
			s.crossings = map[[2]netip.Addr]*crossing{}
		}
		c = new(crossing)
		s.crossings[pair] = c
	}
	if len(c[way]) == evidence.SampleLimit {
		return nil
	}
	d := &delay{later: vtime.FromStd(f.Wall.Sub(e.at))}
	if f.Tap == trace.A {
		d.later = -d.later
	}
	c[way] = append(c[way], d)
	return d
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
	for s.count++; uint32(at.Nanosecond())%uint32(s.unit) != 0; { // 32 bits are divided faster than 64
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
		s.back = s.back || n.Back
	}
}

// two reports whether there are two taps: most frames that passed one of them passed the other too. Captures of one
// direction each, or of different times, are of one tap, whatever their names.
func (s *survey) two() bool {
	return s.matched > 0 && s.matched*3 >= min(s.frames[0], s.frames[1], echoLimit)
}

// sides votes for the tap at which each host is: not at the only tap that saw its frames damaged, otherwise at the tap
// that sees its frames first, judged by the difference between both directions, which does not depend on the clocks of
// the taps.
func (s *survey) sides(vote func(netip.Addr, trace.Side, int)) {
	for pair, c := range s.crossings {
		n := s.placed(pair)
		if n == 0 {
			n = cmp.Compare(c.usual(0), c.usual(1))
		}
		n *= len(c[0]) + len(c[1])
		vote(pair[0], trace.A, n)
		vote(pair[1], trace.B, n)
	}
}

// placed returns 1 if damaged frames show that the first host is at the first tap, -1 if the second is, otherwise 0.
func (s *survey) placed(pair [2]netip.Addr) int {
	return cmp.Compare(s.undamaged(pair[0]), s.undamaged(pair[1]))
}

// undamaged returns by how many damaged frames of a host the second tap is known to be farther from it than the first;
// 0 if both taps saw such frames, or too few, which the host may have sent so and the other tap missed.
func (s *survey) undamaged(host netip.Addr) int {
	if n := s.damaged[host]; n != nil && n[0]*n[1] == 0 && n[0]+n[1] >= evidence.Fewest {
		return n[1] - n[0]
	}
	return 0
}

// clocks returns the time by which the clock of the second tap is ahead of the first, assuming equal delays both ways;
// 0 unless frames of one direction seem to arrive before they are sent. Delays that contradict the places of the hosts
// are not those of one transmission.
func (s *survey) clocks() time.Duration {
	var most *crossing
	for pair, c := range s.sorted() {
		places := s.placed(pair) * cmp.Compare(c.usual(0), c.usual(1))
		if len(c[0]) > 0 && len(c[1]) > 0 && places >= 0 &&
			(most == nil || len(c[0])+len(c[1]) > len(most[0])+len(most[1])) {
			most = c
		}
	}
	if most == nil {
		return 0
	}
	there, back := most.usual(0), most.usual(1)
	if min(there, back) <= 0 && max(there, back) >= 0 {
		return 0
	}
	return (there/2 + back/2).Std()
}

// sorted yields the crossings in the order of their addresses.
func (s *survey) sorted() iter.Seq2[[2]netip.Addr, *crossing] {
	pairs := slices.SortedFunc(maps.Keys(s.crossings), func(a, b [2]netip.Addr) int {
		return cmp.Or(a[0].Compare(b[0]), a[1].Compare(b[1]))
	})
	return func(yield func([2]netip.Addr, *crossing) bool) {
		for _, p := range pairs {
			if !yield(p, s.crossings[p]) {
				return
			}
		}
	}
}
