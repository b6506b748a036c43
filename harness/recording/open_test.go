package recording

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/tracetest"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// sights records all fields of packets that a viewer sees.
type sights struct{ list []string }

func (v *sights) Sight(s *trace.Sight) {
	r := s.Rec
	v.list = append(v.list,
		fmt.Sprintf("%d %v out=%v #%d conn=%d %v copy=%v %q %v icrc=%d sum=%x pad=%d raw=%x payload=%d wire=%d",
			s.At, s.Tap, s.Out,
			s.Index, r.Conn, r.Fate, r.Copy, r.Cause, s.Pkt, s.ICRC, s.Sum, s.Pkt.Pad, s.Raw,
			len(s.Pkt.Payload), r.WireBytes))
}
func (v *sights) Event(*trace.Event) {}
func (v *sights) End(vtime.Time)     {}

func sightsOf(t *testing.T, h *trace.Header, play func(trace.Sink) error) []string {
	t.Helper()
	var v sights
	if err := play(trace.NewTimeline(h, &v)); err != nil {
		t.Fatal(err)
	}
	return v.list
}

// exactTimes has times in picoseconds, which no capture format holds, ties between taps, and every fate.
const exactTimes = `qp conn=1 start=70
@0.000001..0.000002 A>B WRITE_FIRST psn=+0 len=1024
@0.000001 B>A SEND_ONLY psn=+0 len=3
@0.000002 A>X WRITE_MIDDLE psn=+1 len=1024 cause=drop[0]
@3..4 A>B WRITE_LAST psn=+2 len=5 got WRITE_LAST psn=+3 len=5 icrc=bad cause=corrupt[1]
@3..3.5 A>B SEND_ONLY psn=+0 len=4 conn=1
@3.5 B>A ACK psn=+0 msn=1 conn=1 got tos=3
@3.5 X>A NAK psn=+1 msn=0 PSN_SEQ_ERR
@5..9 A>B SEND_ONLY psn=+3 len=9
@6..8 A>B SEND_ONLY psn=+4 len=0
@6 A>B SEND_ONLY psn=+4 len=0 copy cause=duplicate[0]
@7 B>X CNP psn=+0
@8.6 A>B SEND_ONLY psn=+4 len=0 copy cause=duplicate[0]
@8..7.5 A>B SEND_ONLY psn=+5 len=1
@9..8.5 A>B SEND_ONLY psn=+6 len=1 got SEND_ONLY psn=+6 len=1 icrc=bad
A post wr=1 SEND len=4
`

// A pair of captures gives the trace from which it was written, to the picosecond (META-PCAP-001).
func TestCapturesGiveTheSameSights(t *testing.T) {
	for _, text := range []string{exactTimes, tracetest.Gap, tracetest.Everything,
		strings.ReplaceAll(tracetest.BrokenFrames, " raw=off sum=9", "")} {
		for _, base := range tracetest.Bases {
			f := tracetest.Parse(t, text, base)
			dir := t.TempDir()
			tracetest.WriteTaps(t, f, dir, trace.A, trace.B)
			h, play, err := Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			want := f.Header
			want.Reports = 0
			if d := cmp.Diff(want, h, addrs); d != "" {
				t.Errorf("header (-want +got)\n%s", d)
			}
			if d := cmp.Diff(sightsOf(t, &f.Header, tracetest.Playing(f)), sightsOf(t, &h, play)); d != "" {
				t.Errorf("sights (-live +captures)\n%s", d)
			}
		}
	}
}

// fate matches the fields of a sight that one tap cannot know.
var fate = regexp.MustCompile(`#.* conn=\d+ \w+ copy=\w+ "[^"]*"`)

func TestOneCaptureGivesItsSights(t *testing.T) {
	f := tracetest.Parse(t, exactTimes, 0)
	for _, side := range []trace.Side{trace.A, trace.B} {
		dir := t.TempDir()
		tracetest.WriteTaps(t, f, dir, side)
		h, play, err := Open(filepath.Join(dir, side.String()+".pcapng"))
		if err != nil {
			t.Fatal(err)
		}
		if !h.Taps[side] || h.Taps[side.Other()] {
			t.Errorf("taps %v", h.Taps)
		}
		var want []string
		for _, s := range sightsOf(t, &f.Header, tracetest.Playing(f)) {
			if strings.Contains(s, fmt.Sprintf(" %v out=", side)) {
				want = append(want, fate.ReplaceAllString(s, ""))
			}
		}
		var got []string
		for _, s := range sightsOf(t, &h, play) {
			got = append(got, fate.ReplaceAllString(s, ""))
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("tap %v (-live +capture)\n%s", side, d)
		}
	}
}

// A run folder has events in NDJSON and bytes in captures; together they give the whole trace.
func TestRunFolder(t *testing.T) {
	f := tracetest.Parse(t, exactTimes, 0)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, NDJSONName), tracetest.NDJSON(t, f), 0o644); err != nil {
		t.Fatal(err)
	}
	h, play, err := Open(dir)
	if err != nil || h.Bytes {
		t.Fatalf("without captures: bytes %v, %v", h.Bytes, err)
	}
	if err := os.Mkdir(filepath.Join(dir, TapsName), 0o755); err != nil {
		t.Fatal(err)
	}
	tracetest.WriteTaps(t, f, filepath.Join(dir, TapsName), trace.A, trace.B)
	if h, play, err = Open(dir); err != nil || !h.Bytes {
		t.Fatalf("with captures: bytes %v, %v", h.Bytes, err)
	}
	for range 2 {
		var k trace.Collector
		if err := play(&k); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(f.Records, k.Records, cmpopts.EquateEmpty()); d != "" {
			t.Errorf("records (-want +got)\n%s", d)
		}
		if d := cmp.Diff(f.Events, k.Events); d != "" {
			t.Errorf("events (-want +got)\n%s", d)
		}
	}
}

func TestOpenNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none.pcap")
	tracetest.WritePcap(t, path, 65535,
		tracetest.Foreign(tracetest.FramesAt(tracetest.Parse(t, "A>B SEND_ONLY psn=+0 len=40\n", 0), trace.A)[0]))
	if _, _, err := Open(path); err == nil || !strings.Contains(err.Error(), "0 frames on UDP port 4791, 3 others") {
		t.Errorf("no RoCE: %v", err)
	}
	if _, _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "holds neither") {
		t.Errorf("empty folder: %v", err)
	}
	if _, _, err := Open("/nonexistent"); err == nil {
		t.Error("a missing file opens")
	}
}

// A capture that keeps only headers gives headers, and neither payload nor ICRC.
// Datagrams of iWARP, from the port that its sender would have for a QP of the same number, and fragments of other
// traffic are no packets of a RoCEv2 connection between the same hosts.
func TestTrafficBesideRoCE(t *testing.T) {
	f := tracetest.Parse(t, "A>B SEND_ONLY psn=+0 len=40\nA>B SEND msn=1 mo=0 len=40 L\nB>A ACK psn=+0 msn=1\n"+
		"A>B UDP len=40 frag=1480 ipid=7 data="+strings.Repeat("ab", 40)+"\nA>B SEND_ONLY psn=+1 len=40\n", 0)
	path := filepath.Join(t.TempDir(), "beside.pcap")
	tracetest.WritePcap(t, path, 65535, tracetest.FramesAt(f, trace.A))
	h, play, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	var k trace.Collector
	if err := play(&k); err != nil {
		t.Fatal(err)
	}
	if len(h.Conns) != 1 || len(k.Records) != 3 {
		t.Errorf("%d connections, %d packets; want 1 and 3", len(h.Conns), len(k.Records))
	}
}

func TestCaptureCutByLength(t *testing.T) {
	dir := t.TempDir()
	f := tracetest.Parse(t, "A>B WRITE_ONLY psn=+0 len=100\nB>A ACK psn=+0 msn=1\n", 0)
	for _, tc := range []struct {
		snap   int
		defect string
	}{{96, ""}, {60, "capture: 60 of 174 bytes kept"}} {
		path := filepath.Join(dir, "cut.pcap")
		tracetest.WritePcap(t, path, tc.snap, tracetest.FramesAt(f, trace.A))
		_, play, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		var k trace.Collector
		if err := play(&k); err != nil {
			t.Fatal(err)
		}
		r := &k.Records[0]
		if len(k.Records) != 2 || r.Defect != tc.defect || r.ICRC != trace.Unchecked || r.Raw != nil ||
			r.Packet.Len != 100 || r.Packet.Payload != nil {
			t.Errorf("snap length %d: %d records, %+v", tc.snap, len(k.Records), r)
		}
	}
}

// withPKeys sets the default P_Key at all ends, as in their frames.
func withPKeys(conns []trace.Conn) []trace.Conn {
	for i := range conns {
		for s := range conns[i].Ends {
			conns[i].Ends[s].QP.PKey = roce.DefaultPKey
		}
	}
	return conns
}

// A pair of captures of any tool: the connection is learnt, and the frames are paired.
func TestOpenForeignPair(t *testing.T) {
	f := tracetest.Parse(t, "qp A start=77\nqp B start=500\n"+tracetest.LossyRun(1,
		200)+"@3000000 B>A WRITE_FIRST psn=+0 len=1024\n@3000001 B>A WRITE_LAST psn=+1 len=3 A\n@3000009 "+
		"A>B ACK psn=+1 msn=1\n", 0)
	dir := t.TempDir()
	tracetest.WritePcap(t, filepath.Join(dir, "A.pcap"), 65535, tracetest.FramesAt(f, trace.A))
	tracetest.WritePcap(t, filepath.Join(dir, "B.pcap"), 65535, tracetest.FramesAt(f, trace.B))
	h, play, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	// the packet before the start PSN, at the end of the run, is the first known request
	want := withPKeys(tracetest.Parse(t, "unknown\nqp A start=76\nqp B start=500\n", 0).Header.Conns)
	if d := cmp.Diff(want, h.Conns, addrs, undoubted); d != "" {
		t.Errorf("connections (-want +learnt)\n%s", d)
	}
	var k trace.Collector
	if err := play(&k); err != nil {
		t.Fatal(err)
	}
	var fates, wantFates []trace.Fate
	for i := range k.Records {
		fates = append(fates, k.Records[i].Fate)
	}
	for i := range f.Records {
		wantFates = append(wantFates, f.Records[i].Fate)
	}
	if d := cmp.Diff(wantFates, fates); d != "" {
		t.Errorf("fates (-want +got)\n%s", d)
	}
}

func TestOpenForeignSingle(t *testing.T) {
	f := tracetest.Parse(t, `
qp A conn=1 start=1000
qp A conn=2 start=1000
A>B WRITE_FIRST psn=+1 len=1024
A>B WRITE_FIRST psn=+0 len=1024
A>B WRITE_LAST psn=+2 len=8
A>B SEND_ONLY psn=+0 len=8 conn=1
A>B SEND_ONLY psn=+50 len=8 conn=2
A>X SEND_ONLY psn=+1 len=8 conn=1
B>A ACK psn=+0 msn=1 conn=1
B>A ACK psn=+50 msn=1 conn=2
B>A ACK psn=+2 msn=1
`, 0)
	path := filepath.Join(t.TempDir(), "x.pcap")
	tracetest.WritePcap(t, path, 65535, tracetest.FramesAt(f, trace.A))
	r, err := Read(path, Stated{Tap: Tap{place: atRequester}})
	if err != nil {
		t.Fatal(err)
	}
	h, play := r.Header, r.Play
	want := withPKeys(tracetest.Parse(t, "unknown\nqp A conn=1 start=1000\nqp A conn=2 start=1050\n", 0).Header.Conns)
	for i := 1; i <= 2; i++ { // which show no MTU
		want[i].Ends[trace.A].QP.MTU, want[i].Ends[trace.B].QP.MTU, want[i].Fits = 0, 0, 256
	}
	if d := cmp.Diff(want, h.Conns, addrs, undoubted); d != "" || h.Taps != [2]bool{true, false} {
		t.Errorf("taps %v, connections (-want +learnt)\n%s", h.Taps, d)
	}
	var k trace.Collector
	if err := play(&k); err != nil {
		t.Fatal(err)
	}
	for i, r := range k.Records {
		seen := [2]bool{r.Sent != vtime.Never, r.Recv != vtime.Never}
		if w := f.Records[i]; r.Fate != trace.Unknown || r.Conn != w.Conn || r.From != w.From ||
			seen != [2]bool{r.From == trace.A, r.From == trace.B} {
			t.Errorf("record %d is %+v", i, r)
		}
	}
}

// addrs compares addresses, whose fields cmp cannot read.
var addrs = cmp.Comparer(func(a, b netip.Addr) bool { return a == b })

// undoubted compares connections without their doubts.
var undoubted = cmpopts.IgnoreFields(trace.Conn{}, "Doubts")

// Captures of runs in virtual time begin at the same time; their headers distinguish two runs.
func TestCapturesOfTwoRuns(t *testing.T) {
	one, other := t.TempDir(), t.TempDir()
	f := tracetest.Parse(t, tracetest.Gap, 0)
	tracetest.WriteTaps(t, f, one, trace.A, trace.B)
	f.Header.Dilated = 2
	tracetest.WriteTaps(t, f, other, trace.B)
	for _, c := range []struct {
		b    string
		want error
	}{{filepath.Join(one, "B.pcapng"), nil}, {filepath.Join(other, "B.pcapng"), capture.ErrTwoRuns}} {
		r, err := openCaptures([]string{filepath.Join(one, "A.pcapng"), c.b}, Stated{})
		if err == nil {
			err = r.Play(tracetest.Discard{})
		}
		if !errors.Is(err, c.want) {
			t.Errorf("with %s: %v, want %v", c.b, err, c.want)
		}
	}
}
