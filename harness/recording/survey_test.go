package recording

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/recording/evidence"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/tracetest"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// filed writes captures, one for each list, and returns their recording and the frames that a viewer sees.
func filed(t *testing.T, lists ...[]capture.Frame) (Recording, []string) {
	t.Helper()
	var parts []Part
	for i, list := range lists {
		path := filepath.Join(t.TempDir(), fmt.Sprintf("B-%d.pcap", i))
		tracetest.WritePcap(t, path, 65535, list)
		parts = append(parts, Part{Name: path})
	}
	r, err := ReadAll(parts, Stated{})
	if err != nil {
		t.Fatal(err)
	}
	return r, sightsOf(t, &r.Header, r.Play)
}

// later returns the frames for which keep is true, with later time stamps.
func later(list []capture.Frame, by time.Duration, keep func(i int) bool) (out []capture.Frame) {
	for i, f := range list {
		if keep == nil || keep(i) {
			f.Wall = f.Wall.Add(by)
			out = append(out, f)
		}
	}
	return out
}

func inTime(lists ...[]capture.Frame) []capture.Frame {
	all := slices.Concat(lists...)
	slices.SortStableFunc(all, func(a, b capture.Frame) int { return a.Wall.Compare(b.Wall) })
	return all
}

// Two captures that share no frame of either direction may be from taps on a link with a delay longer than the capture.
func TestTapsFarApart(t *testing.T) {
	f := tracetest.Parse(t, goBackRun(3, 30, true), 0)
	list := tracetest.FramesAt(f, trace.A)
	half := len(list) / 2
	there := func(i int) bool { return list[i].Raw[29] == list[0].Raw[29] } // the last byte of the source
	back := func(i int) bool { return !there(i) }
	for name, c := range map[string]struct {
		a, b []capture.Frame
		far  bool
	}{
		"a direction each":          {later(list, 0, there), later(list, 0, back), false},
		"a time each":               {list[:half], list[half:], true},
		"a time each, seconds long": {list[:half], later(list[half:], 2*longest, nil), false},
		"the same":                  {list, later(list, 10*time.Millisecond, nil), false},
	} {
		r, _ := filed(t, c.a, c.b)
		if r.Capture.Distant != c.far {
			t.Errorf("%s: far apart is %v, want %v", name, r.Capture.Distant, c.far)
		}
	}
}

// The frames of one tap give one tap, in any number of files and in any order.
func TestOneTapInAnyForm(t *testing.T) {
	f := tracetest.Parse(t, goBackRun(3, 30, true), 0)
	list := tracetest.FramesAt(f, trace.A)
	base, want := filed(t, list)
	there := func(i int) bool { return list[i].Raw[29] == list[0].Raw[29] } // the last byte of the source
	mixed := slices.Clone(list)
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
	half := len(list) / 2
	for name, c := range map[string]struct {
		lists       [][]capture.Frame
		twice, late bool
	}{
		"a direction a file": {lists: [][]capture.Frame{later(list, 0, there),
			later(list, 0, func(i int) bool { return !there(i) })}},
		"a time a file":       {lists: [][]capture.Frame{list[half:], list[:half]}},
		"three files":         {lists: [][]capture.Frame{list[half:], list[:7], list[7:half]}},
		"out of order":        {lists: [][]capture.Frame{mixed}, late: true},
		"concatenated":        {lists: [][]capture.Frame{slices.Concat(list[half:], list[:half])}, late: true},
		"seen twice":          {lists: [][]capture.Frame{inTime(list, later(list, 700, nil))}, twice: true},
		"one direction twice": {lists: [][]capture.Frame{inTime(list, later(list, 700, there))}, twice: true},
		"seen twice, no order": {lists: [][]capture.Frame{slices.Concat(list, later(list, 700, nil))},
			twice: true, late: true},
	} {
		got, seen := filed(t, c.lists...)
		if diff := cmp.Diff(want, seen); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
		g, b := got.Capture, base.Capture
		if g.Tap != b.Tap || g.Frames != b.Frames || (g.Twice > 0) != c.twice || (g.Late > 0) != c.late {
			t.Errorf("%s: %+v, want %+v", name, g, b)
		}
	}
}

// Where a file is out of order, an answer comes after the request with the same time stamp, and the packets of a
// direction are in the order of their PSNs.
func TestEqualTimesOutOfOrder(t *testing.T) {
	f := tracetest.Parse(t, `
		@0..100 A>B WRITE_ONLY psn=+0 len=8 A
		@1 A>X WRITE_ONLY psn=+1 len=8 A
		@2..102 A>B WRITE_ONLY psn=+2 len=8 A
		@2..102 A>B WRITE_ONLY psn=+3 len=8 A
		@102..202 B>A ACK psn=+0 msn=1
		@102..202 B>A NAK psn=+1 msn=1 PSN_SEQ_ERR
		@203..303 A>B WRITE_ONLY psn=+1 len=8 A
		@204..304 A>B WRITE_ONLY psn=+2 len=8 A
		@204..304 A>B WRITE_ONLY psn=+3 len=8 A
		@304..404 B>A ACK psn=+2 msn=3
		@304..404 B>A ACK psn=+3 msn=4`, 0)
	list := tracetest.FramesAt(f, trace.B)
	_, want := filed(t, list)
	mixed := slices.Clone(list)
	slices.Reverse(mixed)
	if r, got := filed(t, mixed); r.Capture.Late == 0 || !slices.Equal(got, want) {
		t.Errorf("%d frames late\n%s", r.Capture.Late, cmp.Diff(want, got))
	}
}

// Two taps with different clocks get one clock, whichever file is first.
func TestClocksOfTwoTaps(t *testing.T) {
	f := tracetest.Parse(t, goBackRun(3, 30, true), 0)
	a, b := tracetest.FramesAt(f, trace.A), tracetest.FramesAt(f, trace.B)
	_, want := filed(t, a, b)
	for _, by := range []time.Duration{-24 * time.Hour, -time.Second, -300 * time.Microsecond,
		300 * time.Microsecond, time.Minute} {
		for _, lists := range [][][]capture.Frame{{a, later(b, by, nil)}, {later(b, by, nil), a}} {
			r, got := filed(t, lists...)
			if r.Capture.Tap != bothPorts || r.Capture.Clocks.Abs().Round(time.Microsecond) != by.Abs() ||
				len(got) != len(want) {
				t.Errorf("%v: %+v, %d sights, want %d", by, r.Capture, len(got), len(want))
			}
			if len(r.Capture.Doubts()) != 1 {
				t.Errorf("%v: doubts %v", by, r.Capture.Doubts())
			}
		}
	}
}

// Of two taps, the one behind which frames are lost in both directions is between the ports and is left out. A file
// with the frames of both ports is of neither port.
func TestSecondTapBetween(t *testing.T) {
	f := tracetest.Parse(t, goBackRun(3, 40, true), 0)
	a, b, mid := tracetest.FramesAt(f, trace.A), tracetest.FramesAt(f, trace.B), framesBetween(f)
	for name, c := range map[string]struct {
		lists [][]capture.Frame
		want  string
	}{
		"requester and between":             {[][]capture.Frame{a, mid}, atRequester},
		"between and responder":             {[][]capture.Frame{mid, b}, atResponder},
		"responder and between":             {[][]capture.Frame{b, mid}, atResponder},
		"both ports":                        {[][]capture.Frame{b, a}, bothPorts},
		"both ports in one file":            {[][]capture.Frame{inTime(a, b)}, between},
		"far apart, both ports in one file": {[][]capture.Frame{inTime(a, later(b, 5*time.Millisecond, nil))}, between},
	} {
		r, _ := filed(t, c.lists...)
		if got := r.Capture; got.Tap != c.want ||
			strings.Contains(got.Why, "left out") != strings.Contains(name, "between") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Taps may see the packets of one link with different tags.
func TestTwoTapsWithDifferentTags(t *testing.T) {
	f := tracetest.Parse(t, goBackRun(3, 10, true), 0)
	a, b := tracetest.FramesAt(f, trace.A), tracetest.FramesAt(f, trace.B)
	for i := range b {
		b[i].Raw = slices.Concat(b[i].Raw[:12], []byte{0x81, 0, 1, 0x23}, b[i].Raw[12:])
	}
	r, _ := filed(t, a, b)
	var k trace.Collector
	if err := r.Play(&k); err != nil {
		t.Fatal(err)
	}
	want, got := map[string]int{}, map[string]int{}
	for i := range f.Records {
		want[f.Records[i].Fate.String()]++
	}
	for i := range k.Records {
		got[k.Records[i].Fate.String()]++
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("fates (-want +got)\n%s", d)
	}
}

// A retransmission that arrived and that its sender's tap lacks is not the first transmission damaged: both have a
// right ICRC, and not the same.
func TestRetransmissionThatOneTapLacks(t *testing.T) {
	const text = `
@0..100 A>B SEND_ONLY psn=+0 len=8 A
@1 A>X SEND_ONLY psn=+1 len=8 A
@104..204 B>A ACK psn=+0 msn=1
@301..401 A>B SEND_ONLY psn=+1 len=8 A
@404..504 B>A ACK psn=+1 msn=2
`
	f := tracetest.Parse(t, text, 0)
	a, b := tracetest.FramesAt(f, trace.A), tracetest.FramesAt(f, trace.B)
	for _, list := range [][]capture.Frame{a, b} {
		for i := range list {
			if h := (roce.Frame{}); h.Decode(list[i].Raw) == nil && h.Packet.PSN == f.Records[1].Packet.PSN &&
				list[i].Wall.Sub(a[0].Wall) > 200*time.Microsecond {
				list[i].Raw = slices.Clone(list[i].Raw)
				list[i].Raw[19] ^= 1 // the ID of the IP packet, which the ICRC covers
				roce.Reseal(list[i].Raw)
			}
		}
	}
	a = slices.DeleteFunc(a, func(f capture.Frame) bool {
		return f.Wall.Sub(a[0].Wall) == 301*time.Microsecond
	})
	r, _ := filed(t, a, b)
	if err := r.Play(&trace.Collector{}); err != nil {
		t.Fatal(err)
	}
	if r.Capture.Injected != 1 {
		t.Errorf("%+v", r.Capture)
	}
}

// A responder at whose tap requests passed swapped, and that took them, does not prove that it keeps packets that came
// early: the capture may have swapped them.
func TestSwapsAtThePort(t *testing.T) {
	const text = `
@0..100 A>B SEND_ONLY psn=+0 len=8 A
@1..103 A>B SEND_ONLY psn=+1 len=8 A
@2..102 A>B SEND_ONLY psn=+2 len=8 A
@104..204 B>A ACK psn=+0 msn=1
@205..305 A>B SEND_ONLY psn=+3 len=8 A
`
	for answer, want := range map[string]bool{"B>A ACK psn=+3 msn=4": true, "B>A NAK psn=+2 msn=2 PSN_SEQ_ERR": false} {
		f := tracetest.Parse(t, text+"@307..407 "+answer+"\n", 0)
		r, _ := filed(t, tracetest.FramesAt(f, trace.A), tracetest.FramesAt(f, trace.B))
		if got := r.Header.Conns[0].Doubtful(trace.A).Why; strings.Contains(got, "out of order within") != want {
			t.Errorf("%s: doubted %v (%+v, %+v)", answer, got, r.Header.Conns[0].Doubtful(trace.A), r.Capture)
		}
	}
}

// Frames that a capture lacks show in the answers to them, and a complete capture lacks none.
func TestWhatACaptureLacks(t *testing.T) {
	f := tracetest.Parse(t, goBackRun(3, 40, true), 0)
	a, b := tracetest.FramesAt(f, trace.A), tracetest.FramesAt(f, trace.B)
	some, most := func(i int) bool { return i%11 != 5 }, func(i int) bool { return i != 12 }
	for name, c := range map[string]struct {
		lists [][]capture.Frame
		lacks bool
	}{
		"requester": {[][]capture.Frame{a}, false}, "responder": {[][]capture.Frame{b}, false},
		"both":                 {[][]capture.Frame{a, b}, false},
		"requester, not all":   {[][]capture.Frame{later(a, 0, most)}, true},
		"both, not all of one": {[][]capture.Frame{a, later(b, 0, some)}, true},
	} {
		r, _ := filed(t, c.lists...)
		if lacks := r.Capture.Completeness() == Incomplete; lacks != c.lacks ||
			(len(r.Capture.Doubts()) > 0) != c.lacks {
			t.Errorf("%s: %+v, doubts %v", name, r.Capture, r.Capture.Doubts())
		}
	}
	f = tracetest.Parse(t, "@1..9 A>B SEND_ONLY psn=+4 len=1\n@2 B>A ACK psn=+9 msn=10\n@20..21 A>B "+
		"SEND_ONLY psn=+5 len=1\n", 0)
	path := filepath.Join(t.TempDir(), "x.pcap")
	tracetest.WritePcap(t, path, 65535, tracetest.FramesAt(f, trace.A))
	if r, err := Read(path, Stated{Tap: Tap{place: atRequester}}); err != nil || r.Capture.Missing == 0 {
		t.Errorf("a start in the middle of a recovery: %+v, %v", r.Capture, err)
	}
	f = tracetest.Parse(t, "@1 A>B SEND_ONLY psn=+4 len=1\n@2 A>B SEND_ONLY psn=+6 len=1\n@50 B>A NAK psn=+5 "+
		"msn=1 PSN_SEQ_ERR\n@51..52 A>B SEND_ONLY psn=+5 len=1\n", 0)
	tracetest.WritePcap(t, path, 65535, tracetest.FramesAt(f, trace.A))
	for at, missing := range map[string]uint64{atRequester: 1, atResponder: 0} {
		if r, err := Read(path, Stated{Tap: Tap{place: at}}); err != nil || r.Capture.Missing != missing {
			t.Errorf("a packet that passes in a retransmission only: %+v, %v; want %d missing", r.Capture, err, missing)
		}
	}
}

// A QPN that is used again shows in a PSN and an MSN that begin again, or in another MTU with an MSN that begins again.
// QPs with equal PSNs show in that nothing tells them apart.
func TestConnectionsThatLookAlike(t *testing.T) {
	again := "@1..9 A>B SEND_ONLY psn=+4 len=1 A\n@10..19 B>A ACK psn=+4 msn=9\n@30..39 A>B SEND_ONLY psn=+70000 " +
		"len=1 A\n@40..49 B>A ACK psn=+70000 msn=1\n"
	resized := "qp mtu=1024\n@1..9 A>B SEND_FIRST psn=+4 len=1024\n@2..10 A>B SEND_LAST psn=+5 len=1 A\n@11..19 " +
		"B>A ACK psn=+5 msn=9\n@30..39 A>B SEND_FIRST psn=+5 len=512\n@31..40 A>B SEND_LAST psn=+6 len=1 A\n@41..49 " +
		"B>A ACK psn=+6 msn=1\n"
	// an earlier connection had the PSNs up to 103, and the READs of another one follow without a pause
	pipelined := func(psns [3]int, msns [3]int) string {
		text := "@1..9 A>B WRITE_FIRST psn=+100 len=256\n@2..10 A>B WRITE_MIDDLE psn=+101 len=256\n@3..11 A>B WRITE_LAST " +
			"psn=+102 len=1 A\n@12..19 B>A ACK psn=+102 msn=1\n@20..29 A>B SEND_ONLY psn=+103 len=1 A\n" +
			"@30..39 B>A ACK psn=+103 msn=2\n"
		for i := range psns {
			text += fmt.Sprintf("@%d..%d A>B READ_REQUEST psn=+%d va=0x1000 rkey=0x1 dmalen=8\n", 50+i, 60+i, psns[i])
		}
		for i := range psns {
			text += fmt.Sprintf("@%d..%d B>A READ_RESP_ONLY psn=+%d msn=%d len=8\n", 70+i, 80+i, psns[i], msns[i])
		}
		return text
	}
	begun := [3]int{1, 2, 3}
	var alike strings.Builder
	for i := range 4 {
		fmt.Fprintf(&alike, "qp conn=%d start=7\n", i)
	}
	for i := range 8 {
		fmt.Fprintf(&alike, "@%d..%d A>B SEND_ONLY psn=+%d len=1 A conn=%d\n", 10*i, 10*i+5, i/4, i%4)
	}
	for i := range 8 {
		fmt.Fprintf(&alike, "@%d..%d B>A ACK psn=+%d msn=1 conn=%d\n", 100+10*i, 105+10*i, i/4, 3-i%4)
	}
	for name, c := range map[string]struct {
		text         string
		anew, unsure bool
	}{
		"used again": {again, true, false}, "another MTU": {resized, true, false},
		"another MTU, MSN goes on":    {strings.Replace(resized, "msn=1\n", "msn=10\n", 1), false, false},
		"another MTU, nobody answers": {strings.Replace(resized, "@41..49 B>A ACK psn=+6 msn=1\n", "", 1), true, false},
		"READs far away":              {pipelined([3]int{70000, 70001, 70002}, begun), true, false},
		"READs within a message":      {pipelined([3]int{101, 102, 103}, begun), true, false},
		"READs from the same PSN on":  {pipelined([3]int{100, 101, 102}, begun), true, false},
		"READs, MSN goes on":          {pipelined([3]int{70000, 70001, 70002}, [3]int{4, 5, 6}), false, false},
		"a leap alone":                {strings.Replace(again, "msn=1\n", "msn=10\n", 1), false, false},
		"alike":                       {alike.String(), false, true},
	} {
		r, _ := filed(t, tracetest.FramesAt(tracetest.Parse(t, c.text, 0), trace.A))
		if conn := &r.Header.Conns[0]; conn.Anew != c.anew || c.anew && conn.Ends[trace.A].QP.MTU != 0 {
			t.Errorf("%s: began again %v, MTU %d", name, conn.Anew, conn.Ends[trace.A].QP.MTU)
		}
		guessed := r.Header.Conns[0].Doubts[trace.A] == evidence.GuessedPeer
		doubtful := r.Header.Conns[0].Doubts != [2]*trace.Doubt{}
		if got := r.Capture; (got.Anew > 0) != c.anew || guessed != c.unsure || doubtful != (c.anew || c.unsure) {
			t.Errorf("%s: %+v, doubts %v, guessed %v", name, got, got.Doubts(), guessed)
		}
	}
	beside := "qp conn=0\nqp conn=1 start=500000\n" + again +
		"@50..59 A>B SEND_ONLY psn=+0 len=1 A conn=1\n@60..69 B>A ACK psn=+0 msn=1 conn=1\n"
	r, _ := filed(t, tracetest.FramesAt(tracetest.Parse(t, beside, 0), trace.A))
	if h := &r.Header; !h.Conns[0].Anew || h.Conns[1].Doubts != [2]*trace.Doubt{} || len(r.Capture.Doubts()) > 0 {
		t.Errorf("a connection beside it: doubts %v of it, %v of all", h.Conns[1].Doubts, r.Capture.Doubts())
	}
}

// The resolution of time stamps is that of their values, whatever the file says.
func TestTicks(t *testing.T) {
	f := tracetest.Parse(t, goBackRun(3, 30, true), 0)
	a := tracetest.FramesAt(f, trace.A)
	for _, by := range []time.Duration{time.Nanosecond, time.Microsecond, time.Millisecond, time.Second} {
		list := later(a, 123, nil)
		for i := range list {
			list[i].Wall = list[i].Wall.Truncate(by)
		}
		if r, _ := filed(t, list); r.Header.Tick != vtime.FromStd(by) {
			t.Errorf("%v: tick %v", by, r.Header.Tick)
		}
	}
	if r, _ := filed(t, later(a[:stampsLeast-1], 0, nil)); r.Header.Tick != 0 {
		t.Errorf("few frames: tick %v", r.Header.Tick)
	}
}

// Sights of a frame that a tap saw twice may be of different transmissions, and damaged frames are far from their
// sender. Retransmissions on the edge of a capture are taken for the frames that they repeat.
func TestPlacesOfTwoTaps(t *testing.T) {
	left, right := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	there, back := way{left, right}, way{right, left}
	for name, c := range map[string]struct {
		repeats, damaged int
		there, back      vtime.Duration
		clocks           time.Duration
		atA              bool
		missed           int // frames of which the first tap missed the first transmission, instead of the others
	}{
		"one transmission each": {0, 0, 3 * vtime.Millisecond, vtime.Millisecond, 2 * time.Millisecond, true, 0},
		"lost and sent again":   {20, 0, 3 * vtime.Millisecond, vtime.Millisecond, 2 * time.Millisecond, true, 0},
		"on the edge":           {0, 0, -9 * vtime.Millisecond, -vtime.Millisecond, -5 * time.Millisecond, false, 0},
		"on the edge, damaged":  {0, 3, -9 * vtime.Millisecond, -vtime.Millisecond, 0, true, 0},
		"begins late":           {0, 0, vtime.Millisecond, -vtime.Millisecond, 0, true, 5},
	} {
		var s survey
		begin, key := time.Unix(1000, 0), uint64(0)
		sees := func(on way, tap trace.Side, after vtime.Duration) {
			s.echo(key, on, &capture.Frame{Tap: tap, HasTap: true, Wall: begin.Add(after.Std())})
		}
		for range c.missed {
			key++
			sees(there, trace.B, -60*vtime.Millisecond)
			sees(there, trace.A, 0)
			sees(there, trace.B, c.there)
			key++
			sees(back, trace.B, -60*vtime.Millisecond)
			sees(back, trace.B, 0)
			sees(back, trace.A, -c.back)
		}
		for range 5 - c.missed {
			for on, after := range map[way]vtime.Duration{there: c.there, back: c.back} {
				key++
				sees(on, trace.A, 0)
				sees(on, trace.B, after)
			}
		}
		for range c.repeats { // the first transmission is lost
			key++
			sees(there, trace.A, 0)
			sees(there, trace.A, 20*vtime.Millisecond)
			sees(there, trace.B, 23*vtime.Millisecond)
		}
		for range c.damaged {
			s.damage(&capture.Frame{Tap: trace.A, HasTap: true}, right)
		}
		votes := map[netip.Addr]int{}
		s.sides(func(a netip.Addr, side trace.Side, n int) { votes[a] += n * (1 - 2*int(side)) })
		if got := s.clocks(); got != c.clocks || votes[left] > 0 != c.atA || votes[left] != -votes[right] {
			t.Errorf("%s: clocks %v, want %v; votes %v", name, got, c.clocks, votes)
		}
	}
}

// Time stamps that go back for good are of a clock that was set: the frames cannot be put in order by them. A few
// frames that are out of order can.
func TestClockThatIsSetBack(t *testing.T) {
	var text strings.Builder
	for i := range 20 {
		fmt.Fprintf(&text, "@%d..%d A>B SEND_ONLY psn=+%d len=9 A\n", 100*i, 100*i+50, i)
	}
	list := tracetest.FramesAt(tracetest.Parse(t, text.String(), 0), trace.A)
	for frames, want := range map[int]bool{0: false, 3: false, 12: true} {
		set := slices.Clone(list)
		for i := 5; i < 5+frames; i++ {
			set[i].Wall = set[i].Wall.Add(-5 * time.Millisecond)
		}
		r, _ := filed(t, set)
		if got := len(r.Capture.Doubts()) > 0; r.Capture.Back != want || got != want {
			t.Errorf("%d frames earlier: set back %v, doubts %v", frames, r.Capture.Back, r.Capture.Doubts())
		}
	}
}
