package recording

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
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
					r, err := Read(path, Stated{})
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
		r, err := Read(dir, Stated{})
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
	f := tracetest.Parse(t, goBackRun(1, 10, false), 0)
	path := filepath.Join(t.TempDir(), "x.pcap")
	tracetest.WritePcap(t, path, 65535, tracetest.FramesAt(f, trace.A))
	ends := &f.Header.Conns[0].Ends
	for _, c := range []struct{ text, want, fault string }{
		{"auto", "requester", ""}, {"requester", "requester", ""}, {"responder", "responder", ""},
		{"between", "between", ""},
		{ends[trace.B].Addr.String(), "responder", ""}, {"10.9.9.9", "", "an end of 0 of the 1 connections"},
		{"middle", "", `"middle": want one of auto, requester, responder, between, ports, or the address`},
	} {
		tap, err := ParseTap(c.text)
		var r Recording
		if err == nil {
			r, err = Read(path, Stated{Tap: tap})
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

// A place that the user states and that the frames contradict, by the losses between the tap and that host, is not
// used, and the result says so.
func TestTapToldWrongly(t *testing.T) {
	for seed := range uint64(10) {
		f := tracetest.Parse(t, goBackRun(seed, 30, true), 0)
		for place, list := range map[string][]capture.Frame{
			"requester": tracetest.FramesAt(f, trace.A), "responder": tracetest.FramesAt(f, trace.B),
			"between": framesBetween(f),
		} {
			path := filepath.Join(t.TempDir(), "x.pcap")
			tracetest.WritePcap(t, path, 65535, list)
			for _, text := range []string{"requester", "responder"} {
				r, err := Read(path, Stated{Tap: Tap{place: text}})
				if err != nil {
					t.Fatal(err)
				}
				want, says := place, "as stated by the user"
				if text != place {
					want, says = between, "which the frames contradict: "
				}
				if c := r.Capture; c.Tap != want || c.Told != (text == place) ||
					!strings.Contains(c.Why, says) || r.Header.Between != (want == between) {
					t.Errorf("seed %d, taken at %s, stated %s: %s, %s", seed, place, text, c.Tap, c.Why)
				}
			}
		}
	}
}

// Two hosts that both ask first on some connection are not told apart by the words for the ends, only by an address.
func TestTapToldOfBothHosts(t *testing.T) {
	f := tracetest.Parse(t, "qp conn=1 mtu=1024\n@0..10 A>B SEND_ONLY psn=+0 len=9 A\n@12..22 B>A ACK psn=+0 msn=1\n"+
		"@25..35 B>A conn=1 SEND_ONLY psn=+0 len=9 A\n@37..47 A>B conn=1 ACK psn=+0 msn=1\n", 0)
	path := filepath.Join(t.TempDir(), "x.pcap")
	tracetest.WritePcap(t, path, 65535, tracetest.FramesAt(f, trace.A))
	for _, c := range []struct{ text, want string }{{"requester", between}, {"192.0.2.1", atRequester}} {
		tap, err := ParseTap(c.text)
		if err != nil {
			t.Fatal(err)
		}
		if r, err := Read(path, Stated{Tap: tap}); err != nil || r.Capture.Tap != c.want {
			t.Errorf("%s: %v, %+v", c.text, err, r.Capture)
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

// A request that its sender skipped, or that was lost before an inferred tap and not sent again yet, is no proof. That
// the capture begins with an answer to an earlier request does not end that doubt.
func TestSkippedAtAnInferredTap(t *testing.T) {
	for _, begin := range []string{"", "@0..490 B>A ACK psn=-1 msn=0\n"} {
		var text strings.Builder
		text.WriteString(begin)
		for i := range 6 {
			at := 1000 * (i + 1)
			fmt.Fprintf(&text, "@%d..%d A>B SEND_ONLY psn=+%d len=99 A\n@%d..%d B>A ACK psn=+%d msn=%d\n", at, at+490, i,
				at+492, at+982, i, i+1)
		}
		for psn, want := range map[int]bool{6: false, 7: true} {
			after := fmt.Sprintf("@7000..7490 A>B SEND_ONLY psn=+%d len=99 A\n", psn)
			r, _ := filed(t, tracetest.FramesAt(tracetest.Parse(t, text.String()+after, 8), trace.A))
			d := r.Header.Conns[0].Doubtful(trace.A)
			if got := strings.Contains(d.Why, "did not pass before") && d.Until == 0; !r.Header.Inferred || got != want {
				t.Errorf("begins with %q, then psn=+%d: inferred %v, doubt %+v", begin, psn, r.Header.Inferred, d)
			}
		}
	}
}

// gaps returns requests with answers after a time of the responder. Each letter is a gap, which draws a NAK if it is N.
func gaps(t *testing.T, letters string, after int) *fixture.Trace {
	t.Helper()
	var text strings.Builder
	at, p := 0, 0
	pass := func(psn int, answer string) {
		at += 2000
		fmt.Fprintf(&text, "@%d..%d A>B SEND_ONLY psn=+%d len=99 A\n", at, at+490, psn)
		if answer != "" {
			fmt.Fprintf(&text, "@%d..%d B>A %s\n", at+490+after, at+980+after, answer)
		}
	}
	next := func() {
		pass(p, fmt.Sprintf("ACK psn=+%d msn=%d", p, p+1))
		p++
	}
	for range 6 {
		next()
	}
	for _, gap := range letters {
		nak := ""
		if gap == 'N' {
			nak = fmt.Sprintf("NAK psn=+%d msn=%d PSN_SEQ_ERR", p, p)
		}
		fmt.Fprintf(&text, "@%d A>X SEND_ONLY psn=+%d len=99 A\n", at+1000, p)
		pass(p+1, nak)
		next()
		next()
	}
	return tracetest.Parse(t, text.String(), 8)
}

// A gap that drew no NAK at an inferred tap, where others did, is no proof: the NAK may have been lost before the tap.
// If most draw none, losses are not the reason. Of two taps one may stand where its host takes long to react.
func TestGapsWithoutNAK(t *testing.T) {
	for _, c := range []struct {
		letters string
		after   int // time that the responder takes, us
		pair    bool
		want    bool
	}{
		{"", 2, false, false}, {"NN", 2, false, false}, {"NN-", 2, false, true}, {"N-", 2, false, true},
		{"N--", 2, false, false}, {"-", 2, false, false},
		{"NN-", 2, true, false}, {"NN-", 400, true, true}, {"N--", 400, true, false},
	} {
		f := gaps(t, c.letters, c.after)
		of := [][]capture.Frame{tracetest.FramesAt(f, trace.B)}
		if c.pair {
			of = slices.Insert(of, 0, tracetest.FramesAt(f, trace.A))
		}
		r, _ := filed(t, of...)
		if got := strings.Contains(r.Header.Conns[0].Doubtful(trace.A).Why, "drew no NAK"); got != c.want {
			t.Errorf("%+v: %+v, tap %s (%s)", c, r.Header.Conns[0].Doubts, r.Capture.Tap, r.Capture.Why)
		}
	}
}

// That two taps are at the ports is used as the user states it, unless the frames contradict it: what did not pass
// there was not sent. Of one tap it cannot be.
func TestTwoTapsAsTold(t *testing.T) {
	ports, err := ParseTap("ports")
	if err != nil {
		t.Fatal(err)
	}
	slow, back := gaps(t, "NN-", 400), tracetest.Parse(t, goBackRun(1, 30, true), 0)
	var text strings.Builder
	for i := range 6 {
		fmt.Fprintf(&text, "@%d..%d A>B SEND_ONLY psn=+%d len=99 A\n@%d..%d B>A ACK psn=+%d msn=%d\n", i*5000, i*5000+490,
			i, i*5000+492, i*5000+982, i, i+1)
	}
	skips := tracetest.Parse(t, text.String()+"@30000..30490 A>B SEND_ONLY psn=+7 len=99 A\n"+
		"@30492..30982 B>A NAK psn=+6 msn=6 PSN_SEQ_ERR\n@31990..32480 A>B SEND_ONLY psn=+7 len=99 A\n", 0)
	text.Reset()
	for i := range 6 {
		at := i * 5000
		fmt.Fprintf(&text, "@%d..%d A>B SEND_ONLY psn=+%d len=99 A\n@%d..%d B>A NAK psn=+%d msn=%d PSN_SEQ_ERR\n",
			at, at+490, i, at+492, at+982, i, i)
		fmt.Fprintf(&text, "@%d..%d A>B SEND_ONLY psn=+%d len=99 A\n@%d..%d B>A ACK psn=+%d msn=%d\n", at+984, at+1474, i,
			at+1476, at+1966, i, i+1)
	}
	naks := tracetest.Parse(t, text.String(), 0)
	for name, c := range map[string]struct {
		lists [][]capture.Frame
		tap   Tap
		want  string // place, or part of an error
		doubt bool
	}{
		"not stated": {[][]capture.Frame{tracetest.FramesAt(slow, trace.A), tracetest.FramesAt(slow, trace.B)}, Tap{},
			bothPorts, true},
		"stated": {[][]capture.Frame{tracetest.FramesAt(slow, trace.A), tracetest.FramesAt(slow, trace.B)}, ports,
			bothPorts, false},
		"damaged": {[][]capture.Frame{tracetest.FramesAt(slow, trace.A), spoil(tracetest.FramesAt(slow, trace.B), 1)}, ports,
			bothPorts, false},
		"one skipped": {[][]capture.Frame{tracetest.FramesAt(skips, trace.A), tracetest.FramesAt(skips, trace.B)}, ports,
			bothPorts, false},
		"NAKs without a gap": {[][]capture.Frame{tracetest.FramesAt(naks, trace.A), tracetest.FramesAt(naks, trace.B)},
			ports, bothPorts, false},
		"NAKs without a gap, not stated": {[][]capture.Frame{tracetest.FramesAt(naks, trace.A),
			tracetest.FramesAt(naks, trace.B)}, Tap{}, atRequester, false},
		"one skipped, not stated": {[][]capture.Frame{tracetest.FramesAt(skips, trace.A),
			tracetest.FramesAt(skips, trace.B)}, Tap{}, atResponder, false},
		"contradicted": {[][]capture.Frame{tracetest.FramesAt(back, trace.A), framesBetween(back)}, ports, atRequester,
			false},
		"one tap": {[][]capture.Frame{tracetest.FramesAt(slow, trace.B)}, ports, "is for captures of two taps", false},
		"another place": {[][]capture.Frame{tracetest.FramesAt(slow, trace.A), tracetest.FramesAt(slow, trace.B)},
			Tap{place: between}, "is for captures of one tap", false},
	} {
		var parts []Part
		for i, list := range c.lists {
			path := filepath.Join(t.TempDir(), fmt.Sprintf("%d.pcap", i))
			tracetest.WritePcap(t, path, 65535, list)
			parts = append(parts, Part{Name: path})
		}
		r, err := ReadAll(parts, Stated{Tap: c.tap})
		if err != nil {
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		doubted := r.Header.Inferred || strings.Contains(r.Header.Conns[0].Doubtful(trace.A).Why, "drew no NAK")
		if r.Capture.Tap != c.want || c.want == bothPorts && doubted != c.doubt ||
			r.Capture.Told != (c.tap == ports && c.want == bothPorts) {
			t.Errorf("%s: %+v, inferred %v, %+v", name, r.Capture, r.Header.Inferred, r.Header.Conns[0].Doubts)
		}
	}
}
