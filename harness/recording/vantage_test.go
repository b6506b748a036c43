package recording

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/fixture"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/tracetest"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// goBackRun is a correct run of go-back-N over 100 us each way: bursts of eight packets of which about one in ten is
// lost, a NAK 2 us after the gap, and the retransmission 1 us after the NAK.
func goBackRun(seed uint64, bursts int, loss bool) string {
	rng := rand.New(rand.NewPCG(seed, 2))
	var b strings.Builder
	at, psn := 0.0, 0
	for range bursts {
		lost := -1
		if loss && rng.IntN(2) == 0 {
			lost = rng.IntN(7)
		}
		send := func(from int, drop int) {
			for i := from; i < 8; i++ {
				ask := ""
				if i == 7 {
					ask = " A"
				}
				if to := fmt.Sprintf("@%.1f..%.1f A>B", at, at+100); i == drop {
					fmt.Fprintf(&b, "@%.1f A>X SEND_ONLY psn=+%d len=16\n", at, psn+i)
				} else {
					fmt.Fprintf(&b, "%s SEND_ONLY psn=+%d len=16%s\n", to, psn+i, ask)
				}
				at++
			}
		}
		first := at
		send(0, lost)
		if lost >= 0 {
			nak := first + float64(lost) + 1 + 100 + 2
			fmt.Fprintf(&b, "@%.1f..%.1f B>A NAK psn=+%d msn=%d PSN_SEQ_ERR\n", nak, nak+100, psn+lost, psn+lost)
			at = nak + 101
			send(lost, -1)
		}
		fmt.Fprintf(&b, "@%.1f..%.1f B>A ACK psn=+%d msn=%d\n", at+101, at+201, psn+7, psn+8)
		at += 202
		psn += 8
	}
	return b.String()
}

// framesBetween returns the frames at a tap in the middle of the path; every other loss is before it.
func framesBetween(f *fixture.Trace) (list []capture.Frame) {
	lost := 0
	for i := range f.Records {
		r := &f.Records[i]
		at := r.Sent.Add(50 * vtime.Microsecond)
		if r.Fate == trace.Dropped {
			if lost++; lost%2 == 0 {
				continue
			}
		}
		list = append(list, capture.Frame{Wall: time.Unix(1_700_000_000, int64(at)/1000), Raw: r.Raw})
	}
	slices.SortStableFunc(list, func(x, y capture.Frame) int {
		return cmp.Compare(x.Wall.UnixNano(), y.Wall.UnixNano())
	})
	return list
}

// The place of a tap is found from its frames, and never from the name of the file.
func TestWhereTheTapStands(t *testing.T) {
	for _, loss := range []bool{false, true} {
		for seed := range uint64(20) {
			f := tracetest.Parse(t, goBackRun(seed, 30, loss), 0)
			for want, list := range map[string][]capture.Frame{
				"requester": tracetest.FramesAt(f, trace.A), "responder": tracetest.FramesAt(f, trace.B),
				"between": framesBetween(f),
			} {
				for _, name := range []string{"A.pcap", "B-1.pcap", "x.pcap"} {
					path := filepath.Join(t.TempDir(), name)
					tracetest.WritePcap(t, path, 65535, list)
					r, err := Read(path, Tap{})
					if err != nil {
						t.Fatal(err)
					}
					if c := r.Capture; c.Tap != want || c.Told || c.Why == "" {
						t.Errorf("seed %d, losses %v: %s taken at %s is taken for %s: %s", seed, loss, name,
							want, c.Tap, c.Why)
					}
					if taps := map[string][2]bool{"requester": {true, false},
						"responder": {false, true}}[want]; r.Header.Taps != taps ||
						r.Header.Between != (want == "between") {
						t.Errorf("%s: taps %v, between %v", want, r.Header.Taps, r.Header.Between)
					}
				}
			}
		}
	}
}

// Two files are two taps whatever their names. The tap that sees the first request first is A's.
func TestPairWithoutNames(t *testing.T) {
	f := tracetest.Parse(t, goBackRun(3, 30, true), 0)
	for _, names := range [][2]string{{"A.pcap", "B.pcap"}, {"left.pcap", "right.pcap"}} {
		dir := t.TempDir()
		tracetest.WritePcap(t, filepath.Join(dir, names[0]), 65535, tracetest.FramesAt(f, trace.A))
		tracetest.WritePcap(t, filepath.Join(dir, names[1]), 65535, tracetest.FramesAt(f, trace.B))
		r, err := Read(dir, Tap{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Capture.Tap != "both ports" || r.Header.Taps != [2]bool{true, true} ||
			r.Header.Conns[0].Ends[trace.A].Addr != f.Header.Conns[0].Ends[trace.A].Addr {
			t.Errorf("%v: %+v, taps %v", names, r.Capture, r.Header.Taps)
		}
	}
}

// The place that the user states is used, unless it is impossible.
func TestTapAsTold(t *testing.T) {
	f := tracetest.Parse(t, goBackRun(1, 10, true), 0)
	path := filepath.Join(t.TempDir(), "x.pcap")
	tracetest.WritePcap(t, path, 65535, tracetest.FramesAt(f, trace.A))
	ends := &f.Header.Conns[0].Ends
	for _, c := range []struct{ text, want, fault string }{
		{"auto", "requester", ""}, {"requester", "requester", ""}, {"responder", "responder", ""},
		{"between", "between", ""},
		{ends[trace.B].Addr.String(), "responder", ""}, {"10.9.9.9", "", "an end of 0 of the 1 connections"},
		{"middle", "", `"middle": want one of auto, requester, responder, between, or the address`},
	} {
		tap, err := ParseTap(c.text)
		var r Recording
		if err == nil {
			r, err = Read(path, tap)
		}
		if c.fault != "" {
			if err == nil || !strings.Contains(err.Error(), c.fault) {
				t.Errorf("%s: %v", c.text, err)
			}
			continue
		}
		if err != nil || r.Capture.Tap != c.want || r.Capture.Told != (c.text != "auto") {
			t.Errorf("%s: %v, %+v", c.text, err, r.Capture)
		}
	}
	if _, err := ParseTap("::1"); err != nil {
		t.Error(err)
	}
}

// Direction flags tell the host that has the tap; a tap that frames pass through is between.
func TestTapByDirectionFlags(t *testing.T) {
	a, b := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	h := &trace.Header{Conns: []trace.Conn{{Ends: [2]trace.End{{Addr: a}, {Addr: b}}}}}
	for _, c := range []struct {
		a, b int
		want netip.Addr
	}{{100, 0, a}, {0, 7, b}, {1, 200, b}, {50, 50, netip.Addr{}}} {
		v := newVantage(h)
		v.host(a).flagged, v.host(b).flagged = c.a, c.b
		if got := v.decide(); got.addr != c.want {
			t.Errorf("%d frames of %v and %d of %v: tap at %v (%s)", c.a, a, c.b, b, got.addr, got.why)
		}
	}
}

// If only answers of a connection were seen, the end that receives them is the requester.
func TestAnswersAlone(t *testing.T) {
	f := tracetest.Parse(t, "B>A ACK psn=+0 msn=1\n", 0)
	l, err := learn([]capture.Source{&tracetest.Frames{List: tracetest.FramesAt(f, trace.A)}})
	if err != nil {
		t.Fatal(err)
	}
	h := l.header()
	if len(h.Conns) != 1 || h.Conns[0].Ends[trace.A].Addr != f.Header.Conns[0].Ends[trace.A].Addr ||
		h.Conns[0].Ends[trace.A].QP.QPN != f.Header.Conns[0].Ends[trace.A].QP.QPN {
		t.Errorf("%+v", h.Conns)
	}
}

// A host that is three times as fast as the other is at the tap if losses beyond the tap say so too, and none says
// otherwise.
func TestPlaceByLosses(t *testing.T) {
	near, far := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	for _, c := range []struct {
		before, beyond int // NAKs for packets of the near host that never passed, and for those that had
		at             bool
	}{{0, 0, false}, {0, 63, true}, {3, 63, false}} {
		v := newVantage(&trace.Header{Conns: []trace.Conn{{Ends: [2]trace.End{{Addr: near}, {Addr: far}}}}})
		v.host(near).react, v.host(near).unseen = []retreat{{8 * vtime.Microsecond, 0}}, c.before
		v.host(far).answers, v.host(far).seen = samples{26 * vtime.Microsecond}, c.beyond
		if p := v.decide(); (p.addr == near) != c.at {
			t.Errorf("%+v: %+v", c, p)
		}
	}
}

// A host that is slow to send again while its port is busy is not far: the retransmission waits behind packets there.
func TestPlaceByRetransmissions(t *testing.T) {
	const us = vtime.Microsecond
	near, far := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	for name, c := range map[string]struct {
		of retreat
		at bool
	}{"busy": {retreat{200 * us, 27 * us}, false}, "busy, with losses": {retreat{200 * us, 80 * us}, false},
		"idle": {retreat{200 * us, 150 * us}, true}, "busy, and longer than the port is": {retreat{2000 * us, 27 * us}, true},
	} {
		v := newVantage(&trace.Header{Conns: []trace.Conn{{Ends: [2]trace.End{{Addr: near}, {Addr: far}}}}})
		v.host(near).answers = samples{12 * us}
		v.host(far).react, v.host(far).unseen = []retreat{c.of}, 1
		v.host(far).spacing = slices.Repeat(samples{27 * us}, 9)
		if p := v.decide(); (p.addr == near) != c.at {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// A host whose requests mostly follow the answers at once is not far, however long it pauses now and then.
func TestPlaceByPauses(t *testing.T) {
	near, far := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	long, short := pause{90 * vtime.Microsecond, 93 * vtime.Microsecond}, pause{vtime.Microsecond, 4 * vtime.Microsecond}
	for _, c := range []struct {
		name     string
		short    int // pauses in which a request follows the answer at once
		spacing  int // requests without an answer before them
		overtook int // answers that passed out of order
		at       bool
	}{{"waits for answers", 0, 0, 0, true}, {"has several requests outstanding", 9, 30, 0, true},
		{"rests", 9, 3, 0, false}, {"waits for answers, which passed out of order", 0, 0, 1, false}} {
		v := newVantage(&trace.Header{Conns: []trace.Conn{{Ends: [2]trace.End{{Addr: near}, {Addr: far}}}}})
		v.host(near).answers, v.host(near).overtook = samples{3 * vtime.Microsecond}, c.overtook
		v.host(far).idle = append(slices.Repeat(pauses{long}, 5), slices.Repeat(pauses{short}, c.short)...)
		v.host(far).spacing = slices.Repeat(samples{vtime.Microsecond}, c.spacing)
		if p := v.decide(); (p.addr == near) != c.at {
			t.Errorf("%s: %+v", c.name, p)
		}
	}
}

// A request in the same tick of the clock as the answer before it says nothing about how fast its sender is.
func TestPlaceByTicks(t *testing.T) {
	near, far := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	for _, c := range []struct {
		answers vtime.Duration // time that the far host takes to answer
		at      bool
	}{{3 * vtime.Microsecond, false}, {100 * vtime.Microsecond, true}} {
		v := newVantage(&trace.Header{Conns: []trace.Conn{{Ends: [2]trace.End{{Addr: near}, {Addr: far}}}}})
		v.host(near).idle = slices.Repeat(pauses{{0, c.answers}}, fewest)
		v.host(far).answers = samples{c.answers}
		if p := v.decide(); (p.addr == near) != c.at {
			t.Errorf("%+v: %+v", c, p)
		}
	}
}

// A request that is missing at first and comes in a retransmission was lost before the tap, however soon that is. One
// that comes alone may have been put out of order by the capture.
func TestGapsBeforeTheTap(t *testing.T) {
	for name, c := range map[string]struct {
		sent []psn.PSN
		gaps int
	}{
		"a swap":                {[]psn.PSN{0, 1, 3, 2, 4}, 0},
		"a retransmission":      {[]psn.PSN{0, 1, 3, 4, 0, 1, 2, 3}, 1},
		"a replay with a gap":   {[]psn.PSN{0, 1, 2, 3, 0, 1, 3, 1, 2, 3}, 1},
		"again without a gap":   {[]psn.PSN{0, 1, 2, 3, 0, 1, 2, 3}, 0},
		"a swap after a replay": {[]psn.PSN{0, 1, 0, 1, 3, 2, 4}, 0},
	} {
		x := course{requester: &host{}, responder: &host{}}
		for i, p := range c.sent {
			x.request(&sighting{psn: p, opcode: roce.SendOnly, at: vtime.Time(i) * vtime.Time(vtime.Microsecond)}, 1, true)
		}
		if got := x.requester.gaps; got != c.gaps {
			t.Errorf("%s: %d gaps, want %d", name, got, c.gaps)
		}
	}
}

// An acknowledgement that passes before earlier ones has overtaken them, unless it is of a request that had not passed
// or is repeated behind them: then its sender has sent it so.
func TestAcknowledgementsOvertake(t *testing.T) {
	const us = vtime.Time(vtime.Microsecond)
	for name, c := range map[string]struct {
		sent     []psn.PSN
		apart    vtime.Time
		overtook int
	}{
		"one overtakes three":   {[]psn.PSN{0, 4, 1, 2, 3, 5}, us, 1},
		"two swaps":             {[]psn.PSN{1, 0, 3, 2, 4}, us, 2},
		"repeated":              {[]psn.PSN{0, 4, 1, 2, 3, 4, 5}, us, 0},
		"of no request":         {[]psn.PSN{0, 10, 1, 2, 11}, us, 0},
		"long after":            {[]psn.PSN{0, 4, 1, 2, 3, 5}, 100 * us, 0},
		"nothing follows it":    {[]psn.PSN{0, 4, 1, 2, 3}, us, 0},
		"in the order required": {[]psn.PSN{0, 1, 2, 2, 3}, us, 0},
	} {
		x := course{requester: &host{}, responder: &host{}}
		for p := range psn.PSN(10) {
			x.request(&sighting{psn: p, opcode: roce.SendOnly, at: vtime.Time(p)}, 1, true)
		}
		for i, p := range c.sent {
			x.response(&sighting{psn: p, opcode: roce.Acknowledge, syndrome: roce.SyndromeACK,
				at: us + vtime.Time(i)*c.apart})
		}
		if got := x.responder.overtook; got != c.overtook {
			t.Errorf("%s: %d overtook others, want %d", name, got, c.overtook)
		}
	}
}

// A NAK of a request that has passed tells of a loss behind the tap, unless the request passed after later ones: then a
// responder at the tap asks for it, and for the requests that it discarded, however late the NAK leaves.
func TestNAKsThatLeaveLate(t *testing.T) {
	for name, c := range map[string]struct {
		sent []psn.PSN
		nak  psn.PSN
		seen int
	}{
		"lost behind the tap":               {[]psn.PSN{0, 1, 2, 3}, 1, 1},
		"swapped":                           {[]psn.PSN{0, 2, 1, 3}, 1, 0},
		"discarded after a swap, and again": {[]psn.PSN{0, 2, 1, 3, 1, 2, 3}, 2, 0},
		"of a swap before the latest":       {[]psn.PSN{0, 2, 1, 3, 1, 2, 3}, 1, 0},
		"of a request in order":             {[]psn.PSN{0, 2, 1, 3, 1, 2, 3, 4}, 3, 1},
	} {
		x := course{requester: &host{}, responder: &host{}}
		for i, p := range c.sent {
			at := vtime.Time(i) * vtime.Time(vtime.Microsecond)
			x.request(&sighting{psn: p, opcode: roce.SendOnly, at: at}, 1, true)
		}
		x.response(&sighting{psn: c.nak, opcode: roce.Acknowledge, syndrome: roce.SyndromePSNSeqErr})
		if got := x.responder.seen; got != c.seen {
			t.Errorf("%s: %d seen, want %d", name, got, c.seen)
		}
	}
}

// A responder that takes what passed the tap out of order is not at the tap; one that discards it, or to which it is
// sent again, may be.
func TestSwapsBeforeTheTap(t *testing.T) {
	for name, c := range map[string]struct {
		sent  []psn.PSN
		ack   psn.PSN
		swaps int
	}{
		"in order":              {[]psn.PSN{0, 1, 2, 3}, 3, 0},
		"swapped":               {[]psn.PSN{0, 2, 1, 3}, 2, 1},
		"swapped, not taken":    {[]psn.PSN{0, 2, 1, 3}, 1, 0},
		"swapped, and again":    {[]psn.PSN{0, 2, 1, 3, 2, 3}, 3, 0},
		"not swapped: one lost": {[]psn.PSN{0, 2, 3}, 3, 0},
	} {
		x := course{requester: &host{}, responder: &host{}}
		for i, p := range c.sent {
			at := vtime.Time(i) * vtime.Time(vtime.Microsecond)
			x.request(&sighting{psn: p, opcode: roce.SendOnly, at: at}, 1, true)
		}
		x.response(&sighting{psn: c.ack, opcode: roce.Acknowledge, syndrome: 31})
		if got := x.responder.swaps; got != c.swaps {
			t.Errorf("%s: %d swaps, want %d", name, got, c.swaps)
		}
	}
}

// Packets that pass in another order than that in which their sender has to send them were reordered before the tap, so
// that it is not at the port of a sender that nothing shows to be near.
func TestOrderBeforeTheTap(t *testing.T) {
	ack, first, last, one := roce.Acknowledge, roce.ReadRespFirst, roce.ReadRespLast, roce.ReadRespOnly
	near, far := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	for name, c := range map[string]struct {
		answers []roce.Opcode
		psns    []psn.PSN
		astray  bool
	}{
		"in order":                  {[]roce.Opcode{ack, first, last, ack}, []psn.PSN{0, 1, 2, 3}, false},
		"a READ again":              {[]roce.Opcode{first, last, ack, last}, []psn.PSN{1, 2, 3, 2}, true},
		"a READ again, from within": {[]roce.Opcode{first, last, ack, one}, []psn.PSN{1, 2, 3, 2}, false},
		"the capture begins":        {[]roce.Opcode{last, ack}, []psn.PSN{2, 3}, false},
		"an ACK overtaken":          {[]roce.Opcode{ack, ack, ack}, []psn.PSN{1, 3, 2}, true},
	} {
		v := newVantage(&trace.Header{Conns: []trace.Conn{{Ends: [2]trace.End{{Addr: near}, {Addr: far}}}}})
		x := v.course(0, trace.B)
		for p := range psn.PSN(4) {
			x.request(&sighting{psn: p, opcode: roce.SendOnly}, 1, true)
		}
		for i, o := range c.answers {
			x.response(&sighting{psn: c.psns[i], opcode: o, syndrome: 31})
		}
		if got := v.astray(trace.A); got != c.astray {
			t.Errorf("%s: astray %v", name, got)
		}
	}
}

// A READ whose first response does not pass lost it before the tap, as one that lacks a later response.
func TestFirstResponseBeforeTheTap(t *testing.T) {
	for lost, name := range []string{"FIRST", "MIDDLE"} {
		x := course{requester: &host{}, responder: &host{}}
		x.request(&sighting{opcode: roce.ReadRequest}, 5, true)
		opcodes := []roce.Opcode{roce.ReadRespFirst, roce.ReadRespMiddle, roce.ReadRespLast}
		x.response(&sighting{psn: 0, opcode: roce.ReadRespFirst})
		x.response(&sighting{psn: 1, opcode: roce.ReadRespLast})
		for i, o := range opcodes {
			if i != lost {
				x.response(&sighting{psn: psn.PSN(2 + i), opcode: o})
			}
		}
		if got := x.responder.gaps; got != 1 {
			t.Errorf("%s: %d gaps", name, got)
		}
	}
}

// A request that is sent again long after its answer has passed was not answered for its sender, unless data that were
// asked for before it are missing.
func TestDeafRequester(t *testing.T) {
	for name, c := range map[string]struct {
		first roce.Opcode
		after vtime.Duration
		data  bool
		then  psn.PSN
		deaf  int
	}{
		"long after":                     {roce.SendOnly, 20 * vtime.Millisecond, false, 8, 1},
		"long after, and without reason": {roce.SendOnly, 20 * vtime.Millisecond, false, 9, 0},
		"shortly after":                  {roce.SendOnly, vtime.Millisecond, false, 8, 0},
		"long after, data missing":       {roce.ReadRequest, 20 * vtime.Millisecond, false, 8, 0},
		"long after, data answered":      {roce.ReadRequest, 20 * vtime.Millisecond, true, 8, 1},
	} {
		x := course{requester: &host{}, responder: &host{}}
		at := vtime.Time(0)
		pass := func(by vtime.Duration, o roce.Opcode, p psn.PSN) {
			at = at.Add(by)
			if s := (&sighting{at: at, psn: p, opcode: o, headed: true, sound: true}); o.IsRequest() {
				x.request(s, 1, true)
			} else {
				x.response(s)
			}
		}
		pass(0, c.first, 7)
		pass(vtime.Microsecond, roce.SendOnly, 8)
		if c.data {
			pass(vtime.Microsecond, roce.ReadRespOnly, 7)
		}
		pass(vtime.Microsecond, roce.Acknowledge, 8)
		pass(c.after, c.first, 7)
		pass(vtime.Microsecond, roce.SendOnly, c.then)
		if got := x.requester.deaf; got != c.deaf || x.deaf != (c.deaf > 0) {
			t.Errorf("%s: %d, want %d", name, got, c.deaf)
		}
	}
}

// What a second tap of a pair shows of losses behind it: one replay of answered requests is a doubt about them, unless
// the host reacts so fast that the tap is at its port; several replays, or NAKs for what had passed, show it is not.
func TestLossesBehindASecondTap(t *testing.T) {
	near, far := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	for name, c := range map[string]struct {
		seen, deaf      int
		gaps            int
		fast            bool
		doubted, astray bool
	}{
		"nothing":                {0, 0, 0, false, false, false},
		"a replay":               {0, 1, 0, false, true, false},
		"a replay, and near":     {0, 1, 0, true, false, false},
		"replays":                {0, 3, 0, true, false, true},
		"a NAK":                  {1, 0, 0, false, false, true},
		"a NAK, and near":        {1, 0, 0, true, false, false},
		"several NAKs, and near": {3, 0, 0, true, false, true},
		"a gap, and near":        {0, 0, 1, true, false, false},
		"several gaps, and near": {0, 0, 3, true, false, true},
	} {
		v := newVantage(&trace.Header{Conns: []trace.Conn{{Ends: [2]trace.End{{Addr: near}, {Addr: far}}}}})
		x := v.course(0, trace.A)
		x.deaf, x.requester.deaf, x.requester.seen, x.requester.gaps = c.deaf > 0, c.deaf, c.seen, c.gaps
		if c.fast {
			x.requester.answers = samples{vtime.Microsecond}
			x.responder.answers = samples{vtime.Millisecond}
		}
		if got := v.astray(trace.A); got != c.astray {
			t.Errorf("%s: astray %v", name, got)
		}
		if v.addDoubts(trace.A); !c.astray && (v.header.Conns[0].Doubtful(trace.A).Why == deafWhy) != c.doubted {
			t.Errorf("%s: %+v", name, v.header.Conns[0].Doubts)
		}
	}
}

// A request that its sender goes back to was sent, whether it had passed or not; one that its receiver asks for was not
// received, unless it is acknowledged before it is sent again.
func TestLossesBesideATap(t *testing.T) {
	const ask, ack = -1, -2
	for name, c := range map[string]struct {
		steps          []int // PSNs of requests, or ask or ack, of PSN 8
		before, behind bool
	}{
		"none":                     {[]int{7, 8, 9, ack}, false, false},
		"before the tap":           {[]int{7, 9, ask, 8, 9, ack}, true, false},
		"behind it":                {[]int{7, 8, 9, ask, 8, 9, ack}, false, true},
		"asked for, but received":  {[]int{7, 8, 9, ask, ack, 8, 9}, false, false},
		"asked for, and not again": {[]int{7, 8, 9, ask}, false, false},
		"a wrong PSN in its place": {[]int{7, 590000, 9, ask, 8, 9, ack}, false, false},
		"a burst of losses":        {[]int{7, 200, 201, ask, 8, 9, ack}, true, false},
	} {
		x := course{requester: &host{}, responder: &host{}}
		for i, p := range c.steps {
			s := &sighting{at: vtime.Time(i + 1), psn: 8, opcode: roce.Acknowledge, headed: true, sound: true}
			switch p {
			case ask:
				s.syndrome = roce.SyndromePSNSeqErr
				x.response(s)
			case ack:
				x.response(s)
			default:
				s.psn, s.opcode = psn.PSN(p), roce.SendOnly
				x.request(s, 1, true)
			}
		}
		if x.before != c.before || x.behind != c.behind {
			t.Errorf("%s: before %v, behind %v", name, x.before, x.behind)
		}
	}
}

// A request that its sender skipped, or that was lost before an inferred tap and not sent again yet, is no proof.
func TestSkippedAtAnInferredTap(t *testing.T) {
	var text strings.Builder
	for i := range 6 {
		at := 1000 * i
		fmt.Fprintf(&text, "@%d..%d A>B SEND_ONLY psn=+%d len=99 A\n@%d..%d B>A ACK psn=+%d msn=%d\n", at, at+490, i, at+492,
			at+982, i, i+1)
	}
	for after, want := range map[string]*trace.Doubt{
		"@6000..6490 A>B SEND_ONLY psn=+6 len=99 A\n": nil, "@6000..6490 A>B SEND_ONLY psn=+7 len=99 A\n": skippedDoubt,
	} {
		r, _ := filed(t, tracetest.FramesAt(tracetest.Parse(t, text.String()+after, 0), trace.A))
		if d := r.Header.Conns[0].Doubts[trace.A]; !r.Header.Inferred || d != want {
			t.Errorf("after %q: inferred %v, doubt %v", after, r.Header.Inferred, d)
		}
	}
}
