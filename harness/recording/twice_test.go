package recording

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/tracetest"
)

// A mirror that shows each frame twice at both taps is recognised and does not hide that there are two taps.
func TestTwoTapsThatSeeTwice(t *testing.T) {
	f := tracetest.Parse(t, goBackRun(3, 40, true), 0)
	a, b := tracetest.FramesAt(f, trace.A), tracetest.FramesAt(f, trace.B)
	base, want := filed(t, a, b)
	for name, c := range map[string]struct {
		b    []capture.Frame
		want string
	}{
		"soon":           {inTime(b, later(b, 700, nil)), bothPorts},
		"at once":        {inTime(b, b), bothPorts},
		"at two places":  {inTime(b, later(b, 40*time.Microsecond, nil)), atRequester},
		"not in order":   {slices.Concat(b, later(b, 700, nil)), bothPorts},
		"nothing at all": {b, bothPorts},
	} {
		r, seen := filed(t, inTime(a, later(a, 500, nil)), c.b)
		if got := r.Capture; got.Tap != c.want || c.want == bothPorts && got.Frames != base.Capture.Frames {
			t.Errorf("%s: %+v", name, got)
		}
		if diff := cmp.Diff(want, seen); c.want == bothPorts && diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// A mirror whose second sight of a frame is late now and then, because it waited in a queue or was overtaken, raises a
// doubt: the late sight looks like a retransmission. A frame that the network repeats does not hide the mirror.
func TestMirrorThatIsLate(t *testing.T) {
	f := tracetest.Parse(t, goBackRun(3, 40, true), 0)
	a := tracetest.FramesAt(f, trace.A)
	late := func(i int) bool { return i%16 == 3 }
	fifth := func(i int) bool { return i%5 == 0 }
	for name, c := range map[string]struct {
		frames []capture.Frame
		alone  bool
	}{
		"in time": {inTime(a, later(a, 700, nil)), false},
		"late": {inTime(inTime(a, later(a, 700, func(i int) bool { return !late(i) })),
			later(a, 50*time.Microsecond, late)), true},
		"repeated": {inTime(inTime(a, later(a, 700, nil)), later(a, 1000, fifth)), false},
		"marked":   {inTime(a, marked(later(a, 700, nil), fifth)), false},
	} {
		r, _ := filed(t, c.frames)
		if got := r.Capture; got.Twice == 0 || (got.Alone > 0) != c.alone || (len(got.Doubts()) > 0) != c.alone {
			t.Errorf("%s: %+v, doubts %v", name, got, got.Doubts())
		}
	}
}

// marked sets the congestion marks of IPv4 frames, as a switch does.
func marked(list []capture.Frame, which func(i int) bool) []capture.Frame {
	for i := range list {
		if which(i) {
			f := bytes.Clone(list[i].Raw)
			f[15] |= 3
			list[i].Raw = f
		}
	}
	return list
}

// A mirror of two places shows a frame that was lost between them once; which end it reached is not known. A frame at
// the edge of the capture may have had its other sight outside.
func TestMirrorOfTwoPlaces(t *testing.T) {
	f := tracetest.Parse(t, goBackRun(3, 40, true), 0)
	a := tracetest.FramesAt(f, trace.A)
	twice := inTime(a, later(a, 700, nil))
	but := func(lost int) []capture.Frame {
		return inTime(a, later(a, 700, func(i int) bool { return i != lost }))
	}
	for name, c := range map[string]struct {
		frames []capture.Frame
		single uint64
	}{
		"all":       {twice, 0},
		"cut":       {twice[1 : len(twice)-1], 0},
		"lost":      {but(9), 1},
		"late lost": {but(len(a) - 20), 1},
	} {
		r, _ := filed(t, c.frames)
		if got := r.Capture; got.Twice == 0 || got.Single != c.single || (len(got.Doubts()) > 0) != (c.single > 0) {
			t.Errorf("%s: %+v, doubts %v", name, got, got.Doubts())
		}
	}
}

// Frames that arrive twice and left once were repeated by the network and not by a mirror.
func TestTheNetworkRepeats(t *testing.T) {
	f := tracetest.Parse(t, goBackRun(3, 40, false), 0)
	a, b := tracetest.FramesAt(f, trace.A), tracetest.FramesAt(f, trace.B)
	arrived := func(list []capture.Frame, from byte) []capture.Frame {
		return inTime(list, later(list, 700, func(i int) bool { return list[i].Raw[29] == from }))
	}
	one, other := a[0].Raw[29], a[0].Raw[33]
	if r, _ := filed(t, arrived(a, other), arrived(b, one)); r.Capture.Twice != 0 || r.Capture.Tap != bothPorts {
		t.Errorf("%+v", r.Capture)
	}
}

// TestMirrorOfLosses: few frames of one direction come twice, because the others are lost behind the mirror. The other
// direction decides that it is a mirror.
func TestMirrorOfLosses(t *testing.T) {
	var d doubles
	var none roce.Packet
	there, back := way{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")},
		way{netip.MustParseAddr("192.0.2.2"), netip.MustParseAddr("192.0.2.1")}
	twice := func(key uint64, on way, at int64) {
		d.frame(key, &none, on, time.UnixMicro(at))
		d.frame(key, &none, on, time.UnixMicro(at+2))
	}
	for key := range uint64(3) {
		twice(key, there, int64(key)*10)
	}
	d.frame(3, &none, there, time.UnixMicro(30))
	d.frame(3, &none, there, time.UnixMicro(90))
	if len(d.windows()) != 0 {
		t.Error("a frame that was sent again is of a mirror")
	}
	twice(4, back, 60)
	if got := d.windows(); len(got) != 2 {
		t.Errorf("%v; want both directions", got)
	}
}

// TestMirrorOfManyLosses: a mirror in one place shows most frames of both directions twice, though many are lost behind
// it. In one direction alone, or after a longer time, they may have been sent again.
func TestMirrorOfManyLosses(t *testing.T) {
	there, back := way{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")},
		way{netip.MustParseAddr("192.0.2.2"), netip.MustParseAddr("192.0.2.1")}
	for name, c := range map[string]struct {
		later [2]int64 // time between both sights in each direction, in microseconds; 0 for one sight
		want  int      // directions that are mirrored
	}{
		"both directions": {[2]int64{5, 5}, 2},
		"one direction":   {[2]int64{5, 0}, 0},
		"two places":      {[2]int64{50, 50}, 0},
	} {
		var d doubles
		var none roce.Packet
		for key := range uint64(50) {
			for i, on := range []way{there, back} {
				at := int64(key) * 100
				d.frame(key<<1|uint64(i), &none, on, time.UnixMicro(at))
				if lost := key%5 == 0; !lost && c.later[i] > 0 {
					d.frame(key<<1|uint64(i), &none, on, time.UnixMicro(at+c.later[i]))
				}
			}
		}
		if got := d.windows(); len(got) != c.want {
			t.Errorf("%s: %v; want %d directions", name, got, c.want)
		}
	}
}

// Frames take several times to cross one switch, because some wait in it for others: it is one mirror.
func TestMirrorOfFramesThatWait(t *testing.T) {
	on := way{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")}
	for name, c := range map[string]struct {
		waits int64 // time in the switch of every third frame, in nanoseconds
		want  int   // directions that are mirrored
	}{
		"in one place":     {3600, 1},
		"between places":   {36_000, 0},
		"none waits":       {600, 1},
		"longest of these": {10_000, 1},
	} {
		var d doubles
		var none roce.Packet
		for key := range uint64(60) {
			at, wait := time.UnixMicro(int64(key)*100), int64(600)
			if key%3 == 0 {
				wait = c.waits
			}
			d.frame(key, &none, on, at)
			d.frame(key, &none, on, at.Add(time.Duration(wait)))
		}
		if got := d.windows(); len(got) != c.want {
			t.Errorf("%s: %v; want %d directions", name, got, c.want)
		}
	}
}

// TestMirrorOfTwoPlacesCut: a capture of two places that begins when the requests have passed the first has each of
// them once, and all answers but the first twice.
func TestMirrorOfTwoPlacesCut(t *testing.T) {
	there, back := way{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")},
		way{netip.MustParseAddr("192.0.2.2"), netip.MustParseAddr("192.0.2.1")}
	for name, c := range map[string]struct {
		answer bool // what comes twice is a response
		again  bool // a request comes twice
		every  int64
		twice  uint64 // answers that come twice
		want   bool
	}{
		"of two places":             {true, false, 5000, 30, true},
		"a request is sent again":   {true, true, 5000, 30, false},
		"requests of the responder": {false, false, 5000, 30, false},
		"of two near places":        {true, false, 5, 30, true},
		"few":                       {true, false, 5000, 5, true},
		"too few":                   {true, false, 5000, 3, false},
	} {
		var d doubles
		frame := func(key uint64, on way, at int64, answer bool) {
			p := roce.Packet{BTH: roce.BTH{Opcode: roce.SendOnly}}
			if answer {
				p.Opcode = roce.Acknowledge
			}
			d.frame(key, &p, on, time.UnixMicro(at))
		}
		for i := range uint64(30) {
			frame(i, there, int64(i)*30, false)
			frame(100+i, back, int64(i)*30+1, true)
		}
		for i := range uint64(20) { // whose first sight precedes the capture
			frame(200+i, back, c.every*4/5+int64(i)*c.every/500, c.answer)
		}
		for i := range c.twice {
			frame(100+i, back, int64(i)*30+1+c.every, c.answer)
		}
		if c.again {
			frame(7, there, c.every, false)
		}
		if got := d.apart(d.windows()); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestMirrorOfTwoPlacesShort: a capture of two places that is hardly longer than the time between them has many frames
// of both directions once, at its edges.
func TestMirrorOfTwoPlacesShort(t *testing.T) {
	there, back := way{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")},
		way{netip.MustParseAddr("192.0.2.2"), netip.MustParseAddr("192.0.2.1")}
	const from, to, between = 200, 500, 100 // of the capture, and between the places, in units of a packet
	for name, answersTwice := range map[string]bool{"both directions": true, "requests only": false} {
		var d doubles
		frame := func(key uint64, on way, at int64, o roce.Opcode) {
			if at >= from && at < to {
				d.frame(key, &roce.Packet{BTH: roce.BTH{Opcode: o}}, on, time.UnixMicro(at*10))
			}
		}
		for at := range int64(to) {
			frame(uint64(at), there, at, roce.SendOnly)
			frame(uint64(at-between), there, at, roce.SendOnly)
			if at%10 == 0 {
				frame(1000+uint64(at), back, at, roce.Acknowledge)
				if answersTwice {
					frame(1000+uint64(at-between), back, at, roce.Acknowledge)
				}
			}
		}
		if got := d.apart(d.windows()); got != answersTwice {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A requester that goes back sends most frames of a short capture again after one delay, which is that of its round
// trip and not the distance of two places at which a mirror sees them. A mirror repeats the frames before the NAK too.
func TestGoingBackIsNoMirror(t *testing.T) {
	text := func(first int) string {
		var b strings.Builder
		fmt.Fprintf(&b, "@0..100 A>B SEND_ONLY psn=+0 len=8 A\n@102..202 B>A ACK psn=+0 msn=1\n")
		for i := range 20 {
			if at := 250 + i; i == first {
				fmt.Fprintf(&b, "@%d A>X SEND_ONLY psn=+%d len=8\n", at, 1+i)
			} else {
				fmt.Fprintf(&b, "@%d..%d A>B SEND_ONLY psn=+%d len=8\n", at, at+100, 1+i)
			}
		}
		at := 250 + first + 1 + 102
		fmt.Fprintf(&b, "@%d..%d B>A NAK psn=+%d msn=%d PSN_SEQ_ERR\n", at, at+100, 1+first, 1+first)
		for i := first; i < 20; i++ {
			fmt.Fprintf(&b, "@%d..%d A>B SEND_ONLY psn=+%d len=8%s\n", at+101+i, at+201+i, 1+i,
				map[bool]string{true: " A"}[i == 19])
		}
		return b.String() + fmt.Sprintf("@%d..%d B>A ACK psn=+20 msn=21\n", at+250, at+350)
	}
	for _, first := range []int{0, 1, 3} {
		f := tracetest.Parse(t, text(first), 0)
		a, b := tracetest.FramesAt(f, trace.A), tracetest.FramesAt(f, trace.B)
		for want, lists := range map[string][][]capture.Frame{
			atRequester: {a}, atResponder: {b}, bothPorts: {a, b},
			between: {inTime(a, later(b, 5*time.Millisecond, nil))},
		} {
			r, _ := filed(t, lists...)
			if got := r.Capture; got.Tap != want || got.Twice != 0 && want != between {
				t.Errorf("first lost %d, %s: %s (%s), %d left out", first, want, got.Tap, got.Why, got.Twice)
			}
		}
	}
}

// A frame that comes again after a NAK asked for it says nothing of a mirror: its sender may have gone back, and it may
// have been seen at the second place.
func TestMirrorBesideGoingBack(t *testing.T) {
	there := way{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")}
	for pairs, want := range map[uint32]bool{60: true, 20: false} {
		var d doubles
		at := int64(0)
		sees := func(on way, o roce.Opcode, from, to uint32) {
			for n := from; n < to; n++ {
				at += 10
				p := roce.Packet{BTH: roce.BTH{Opcode: o, PSN: psn.New(n)}}
				if o == roce.Acknowledge {
					p.AETH.Syndrome = roce.SyndromePSNSeqErr
				}
				d.frame(uint64(o)<<32|uint64(n), &p, on, time.UnixMicro(at))
			}
		}
		sees(there, roce.SendOnly, 1, 21)
		sees(way{there.to, there.from}, roce.Acknowledge, 0, 1)
		sees(there, roce.SendOnly, 0, 1)
		sees(there, roce.SendOnly, 1, 21)
		sees(there, roce.SendOnly, 100, 100+pairs)
		sees(there, roce.SendOnly, 100, 100+pairs)
		if got := d.apart(d.windows()); got != want {
			t.Errorf("%d pairs: %v", pairs, got)
		}
	}
}
