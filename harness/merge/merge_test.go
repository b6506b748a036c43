package merge

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
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
	"github.com/rdma-gauntlet/gauntlet/harness/trace/fixture"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/ladder"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/tracetest"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// tapsOf returns the captures of a fixture at two taps, without notes.
func tapsOf(f *fixture.Trace) []capture.Source {
	return []capture.Source{capture.AtTap{Source: &tracetest.Frames{List: tracetest.FramesAt(f, trace.A)},
		Side: trace.A}, capture.AtTap{Source: &tracetest.Frames{List: tracetest.FramesAt(f, trace.B)}, Side: trace.B}}
}

// summary returns the parts of the records that a merge must reproduce: a line for each, its rung of a ladder and the
// fields that a ladder does not show.
func summary(t *testing.T, h *trace.Header, records []trace.Record) (lines []string) {
	t.Helper()
	for i := range records {
		r := &records[i]
		var b strings.Builder
		if err := ladder.Draw(&b, h, records[i:i+1], nil, ladder.Options{}); err != nil {
			t.Fatal(err)
		}
		_, rung, _ := strings.Cut(b.String(), "\n")
		lines = append(lines, fmt.Sprintf("%d %v %s: %s", r.Conn, r.Fate, r.Cause, rung))
	}
	return lines
}

func mergeAll(t *testing.T, f *fixture.Trace, opt Options) (*trace.Collector, Stats) {
	t.Helper()
	var k trace.Collector
	opt.Zero = tracetest.Epoch
	stats, err := Taps(&f.Header, tapsOf(f), opt, &k)
	if err != nil {
		t.Fatal(err)
	}
	return &k, stats
}

func us(x float64) vtime.Time { return vtime.Time(x * 1e6) }

// logOf returns the link's log entry for record i, taken at a time in microseconds.
func logOf(f *fixture.Trace, i int, at float64) LinkFate {
	r := &f.Records[i]
	e := LinkFate{At: us(at), From: r.From, Key: ContentKey(r.Raw, r.From), Fate: r.Fate, Cause: r.Cause, Due: r.Recv}
	if r.Changed != nil {
		e.Out = ContentKey(r.Changed.Raw, r.From)
	}
	return e
}

func TestMergeFates(t *testing.T) {
	for name, text := range map[string]string{
		"delivered": "A>B SEND_ONLY psn=+0 len=4\nB>A ACK psn=+0 msn=1\n",
		"lost and retransmitted with the same bytes": `
A>X SEND_ONLY psn=+0 len=4
A>B SEND_ONLY psn=+1 len=4 A
@500 A>B SEND_ONLY psn=+0 len=4
@501 A>B SEND_ONLY psn=+1 len=4 A
`,
		"tail lost twice": `
A>B SEND_ONLY psn=+0 len=4
A>X SEND_ONLY psn=+1 len=4
@500 A>X SEND_ONLY psn=+1 len=4
@1000 A>B SEND_ONLY psn=+1 len=4
`,
		"corrupted in the payload": "A>B SEND_ONLY psn=+0 len=4\nA>B SEND_ONLY psn=+1 len=64 got byte=60:9 icrc=bad\n",
		"corrupted in the PSN": "A>B SEND_ONLY psn=+0 len=4\nA>B SEND_ONLY psn=+1 len=64 got byte=52:77 " +
			"icrc=bad\nA>B SEND_ONLY psn=+2 len=64\n",
		"rewritten by a middlebox": "A>B SEND_ONLY psn=+0 len=4\nB>A ACK psn=+0 msn=1 got ACK psn=+0 msn=2\n",
		"injected": "A>B SEND_ONLY psn=+0 len=4\nX>A NAK psn=+0 msn=0 PSN_SEQ_ERR\nX>B SEND_ONLY " +
			"psn=+9 len=4 fill=9\n",
		"overtaken": "@1..9 A>B SEND_ONLY psn=+0 len=4\n@2..5 A>B SEND_ONLY psn=+1 len=4\n@3..4 A>B " +
			"SEND_ONLY psn=+2 len=4\n",
		"two connections": "qp conn=1 start=99\nA>B SEND_ONLY psn=+0 len=4\nB>A SEND_ONLY psn=+0 len=4 " +
			"conn=1\nA>X ACK psn=+0 msn=1 conn=1\n@90 B>A SEND_ONLY psn=+0 len=4 conn=1\n",
	} {
		// a later packet, or packets in flight at the end have an unknown fate
		text += "@900000 A>B SEND_ONLY psn=+70 len=1\n@900000.1 B>A SEND_ONLY psn=+70 len=1\n"
		for _, base := range tracetest.Bases {
			f := tracetest.Parse(t, text, base)
			k, stats := mergeAll(t, f, Options{})
			want := summary(t, &f.Header, f.Records)
			got := summary(t, &f.Header, k.Records)
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s (-want +got)\n%s\n%+v", name, d, stats)
			}
		}
	}
}

// The log of the link distinguishes packets that the taps cannot, and has the causes.
func TestMergeFateLog(t *testing.T) {
	f := tracetest.Parse(t, `
@1 A>X SEND_ONLY psn=+0 len=4 cause=drop[0]
@2..40 A>B SEND_ONLY psn=+0 len=4
@41..43 A>B SEND_ONLY psn=+1 len=4 got icrc=bad cause=corrupt[1]
@900 A>B SEND_ONLY psn=+2 len=4
`, psn.Mask)
	fates := []LinkFate{logOf(f, 1, 2.1), logOf(f, 0, 1.1), logOf(f, 2, 41.1),
		{At: us(50), From: trace.B, Key: 7, Fate: trace.Dropped}}
	k, stats := mergeAll(t, f, Options{Fates: fates})
	if d := cmp.Diff(summary(t, &f.Header, f.Records), summary(t, &f.Header, k.Records)); d != "" ||
		stats.Unexplored != 1 {
		t.Errorf("%+v (-want +got)\n%s", stats, d)
	}
}

// A partial log is of one part of the link. A packet without an entry may still be lost, equal frames need not keep
// their order, and a packet cannot arrive before the least delay.
func TestMergePartialLog(t *testing.T) {
	f := tracetest.Parse(t, `
@1 A>X SEND_ONLY psn=+0 len=4 cause=drop[0]
@2 A>X SEND_ONLY psn=+0 len=4 cause=loss
@30..60 A>B SEND_ONLY psn=+0 len=4
@31..61 A>B SEND_ONLY psn=+1 len=4
@3 A>X SEND_ONLY psn=+3 len=4 cause=loss
@100..130 B>A ACK psn=+1 msn=2
@125..155 B>A ACK psn=+1 msn=2
@900..930 A>B SEND_ONLY psn=+2 len=4
`, 0)
	fates := []LinkFate{logOf(f, 0, 1.1)}
	least := 30 * vtime.Microsecond
	for partial, same := range map[bool]bool{true: true, false: false} {
		k, _ := mergeAll(t, f, Options{Fates: fates, Partial: partial, Ordered: true, Least: [2]vtime.Duration{least,
			least}, Window: 300 * vtime.Microsecond})
		if d := cmp.Diff(summary(t, &f.Header, f.Records), summary(t, &f.Header, k.Records)); (d == "") != same {
			t.Errorf("partial %v (-want +got)\n%s", partial, d)
		}
	}
}

// A packet that a part of the link delayed continues at its time of leaving. An equal packet sent meanwhile does not
// take its arrival, and the packet has not overtaken others.
func TestMergePartialLogLetsGo(t *testing.T) {
	f := tracetest.Parse(t, `
@1..21 A>B SEND_ONLY psn=+0 len=4
@2..62 A>B SEND_ONLY psn=+1 len=4 cause=delay[0]
@3..63 A>B SEND_ONLY psn=+2 len=4 cause=delay[0]
@44..64 A>B SEND_ONLY psn=+1 len=4
@45..65 A>B SEND_ONLY psn=+2 len=4
@900..910 A>B SEND_ONLY psn=+3 len=4
`, 0)
	fates := []LinkFate{logOf(f, 1, 2.1), logOf(f, 2, 3.1)}
	fates[0].Left, fates[1].Left = us(42), us(43)
	for _, known := range []bool{true, false} {
		if !known {
			fates[0].Left, fates[1].Left = 0, 0
		}
		k, _ := mergeAll(t, f, Options{Fates: fates, Partial: true, Ordered: known,
			Least: [2]vtime.Duration{10 * vtime.Microsecond, 0}})
		if d := cmp.Diff(summary(t, &f.Header, f.Records), summary(t, &f.Header, k.Records)); (d == "") != known {
			t.Errorf("known %v (-want +got)\n%s", known, d)
		}
	}
}

// The part of the link with a log corrupts, marks and copies; the rest has no log, and loses and corrupts packets
// behind it.
func TestMergePartialLogAlters(t *testing.T) {
	f := tracetest.Parse(t, `
@1..31 A>B SEND_ONLY psn=+0 len=64 got byte=60:9 icrc=bad cause=corrupt[0]
@2..32 A>B SEND_ONLY psn=+0 len=64
@3 A>X SEND_ONLY psn=+1 len=64 cause=loss
@4..34 A>B SEND_ONLY psn=+1 len=64
@5..35 A>B SEND_ONLY psn=+2 len=64 cause=mark[1] got tos=3
@6..36 A>B SEND_ONLY psn=+3 len=64 got byte=52:77 icrc=bad cause=corrupt
@700..730 A>B SEND_ONLY psn=+9 len=4
`, 0)
	f.Records[4].Fate = trace.Delivered // as sent except for the mark
	fates := []LinkFate{logOf(f, 0, 1.1), logOf(f, 1, 2.1), logOf(f, 2, 3.1), logOf(f, 3, 4.1), logOf(f, 4, 5.1)}
	// corrupted, and then lost by the rest
	fates[2].Fate, fates[2].Cause, fates[2].Out = trace.Corrupted, "corrupt[2]", 12345
	k, stats := mergeAll(t, f, Options{Fates: fates, Partial: true, Ordered: true, Window: 300 * vtime.Microsecond,
		Least: [2]vtime.Duration{30 * vtime.Microsecond, 0}})
	if d := cmp.Diff(summary(t, &f.Header, f.Records), summary(t, &f.Header, k.Records)); d != "" ||
		stats.Unexplored != 0 {
		t.Errorf("%+v (-want +got)\n%s", stats, d)
	}
}

// A packet forged by the harness is not taken for a changed packet of an end: neither a NAK for the ACK with its PSN,
// nor an ACK with equal bytes, whichever arrives first.
func TestMergeForged(t *testing.T) {
	f := tracetest.Parse(t, `
@1..3 A>B SEND_ONLY psn=+0 len=4
@4..40 B>A ACK psn=+0 msn=1
@20 X>A NAK psn=+0 msn=0 REM_ACCESS
@50..60 A>B SEND_ONLY psn=+1 len=4
@70 X>A ACK psn=+1 msn=2
@65..90 B>A ACK psn=+1 msn=2
@100..110 A>B SEND_ONLY psn=+2 len=4
@120..140 B>A ACK psn=+2 msn=3
@190 X>A ACK psn=+2 msn=3
@900..910 A>B SEND_ONLY psn=+3 len=4
`, 0)
	var forged []Forgery
	for i := range f.Records {
		if r := &f.Records[i]; r.Fate == trace.Injected {
			forged = append(forged, Forgery{At: r.Recv, From: r.From, Raw: r.Raw})
		}
	}
	slices.Reverse(forged)
	for name, fates := range map[string][]LinkFate{"with a log": {}, "without a log": nil} {
		k, stats := mergeAll(t, f, Options{Fates: fates, Forged: forged})
		if d := cmp.Diff(summary(t, &f.Header, f.Records), summary(t, &f.Header, k.Records)); d != "" ||
			stats.Fates[trace.Injected] != 3 {
			t.Errorf("%s: %+v (-want +got)\n%s", name, stats, d)
		}
	}
}

// A last packet without arrival is lost if the taps watched for long enough after it; else its fate is unknown.
func TestMergeLastPackets(t *testing.T) {
	f := tracetest.Parse(t, "@1..9 A>B SEND_ONLY psn=+0 len=4\n@20 A>X SEND_ONLY psn=+1 len=4\n", 0)
	for until, want := range map[vtime.Time]trace.Fate{0: trace.Unknown, 30e6: trace.Unknown, 40e6: trace.Dropped} {
		k, stats := mergeAll(t, f, Options{Until: until})
		if r := &k.Records[len(k.Records)-1]; r.Fate != want {
			t.Errorf("watched until %s us: %v, want %v; %+v", until.Micros(), r.Fate, want, stats)
		}
	}
}

// The delay of a packet that a fault delayed is no measure for those after it: their retransmissions are no copies.
func TestMergeIgnoresScriptedDelay(t *testing.T) {
	f := tracetest.Parse(t, `
@1..41 A>B SEND_ONLY psn=+0 len=4 cause=delay[0]
@2..12 A>B SEND_ONLY psn=+1 len=4
@22..32 A>B SEND_ONLY psn=+0 len=4
@23..33 A>B SEND_ONLY psn=+1 len=4
@900..910 A>B SEND_ONLY psn=+2 len=4
`, 0)
	fates := []LinkFate{logOf(f, 0, 1.1), logOf(f, 2, 22.1)}
	k, stats := mergeAll(t, f, Options{Fates: fates})
	if d := cmp.Diff(summary(t, &f.Header, f.Records), summary(t, &f.Header, k.Records)); d != "" || stats.Copies != 0 {
		t.Errorf("%+v (-want +got)\n%s", stats, d)
	}
}

// A frame that a tap lost is no fault of the link or of the sender.
func TestMergeCaptureGaps(t *testing.T) {
	f := tracetest.Parse(t, "@1 A>B SEND_ONLY psn=+0 len=4\n@2 A>B SEND_ONLY psn=+1 len=4\n@3 A>B SEND_ONLY psn=+2 "+
		"len=4\n@900000 A>B SEND_ONLY psn=+3 len=4\n", 0)
	for _, tap := range []trace.Side{trace.A, trace.B} {
		lists := [2][]capture.Frame{tracetest.FramesAt(f, trace.A), tracetest.FramesAt(f, trace.B)}
		lists[tap] = slices.Delete(lists[tap], 1, 2)
		lists[tap][1].Dropped = 1
		src := []capture.Source{capture.AtTap{Source: &tracetest.Frames{List: lists[trace.A]}, Side: trace.A},
			capture.AtTap{Source: &tracetest.Frames{List: lists[trace.B], Lost: 7}, Side: trace.B}}
		var k trace.Collector
		stats, err := Taps(&f.Header, src, Options{Zero: tracetest.Epoch}, &k)
		if err != nil {
			t.Fatal(err)
		}
		if r := k.Records[1]; len(k.Records) != 4 || r.Fate != trace.Unknown || r.Cause != causeCapture {
			t.Errorf("tap %v lost a frame: %v", tap, summary(t, &f.Header, k.Records))
		}
		gaps := uint64(0)
		for _, g := range stats.Gaps {
			gaps += g.Frames
		}
		if want := map[trace.Side]uint64{trace.A: 1 + 7, trace.B: 7}[tap]; gaps != want {
			t.Errorf("gaps %+v, want %d frames", stats.Gaps, want)
		}
	}
}

// A frame that arrives before it was sent, because two taps of one host disagree on the time, is not injected.
func TestMergeArrivalBeforeDeparture(t *testing.T) {
	f := tracetest.Parse(t, "@1..1 A>B SEND_ONLY psn=+0 len=4\n@1..1 B>A SEND_ONLY psn=+0 len=4\n@5..3 B>A SEND_ONLY "+
		"psn=+1 len=4\n@9 B>A SEND_ONLY psn=+2 len=4\n", 0)
	k, _ := mergeAll(t, f, Options{})
	last := vtime.Time(0)
	for i := range k.Records {
		r := &k.Records[i]
		if r.Fate != trace.Delivered || r.Time() < last {
			t.Errorf("%v at %d after %d", r.Fate, r.Time(), last)
		}
		last = r.Time()
	}
	if len(k.Records) != 4 {
		t.Errorf("%d records", len(k.Records))
	}
}

func TestMergeLongRun(t *testing.T) {
	for seed := range uint64(5) {
		f := tracetest.Parse(t, tracetest.LossyRun(seed, 2000), psn.Mask-900)
		k, _ := mergeAll(t, f, Options{})
		if d := cmp.Diff(summary(t, &f.Header, f.Records), summary(t, &f.Header, k.Records)); d != "" {
			t.Fatalf("seed %d (-want +got)\n%s", seed, d)
		}
	}
}

// pipe is the frames of one tap of a run, made as they are read.
type pipe struct {
	frame []byte
	n     int
	left  int
	late  time.Duration
}

func (p *pipe) Next(f *capture.Frame) error {
	if p.left == 0 {
		return io.EOF
	}
	p.left--
	p.n++
	binary.BigEndian.PutUint32(p.frame[50:], uint32(p.n)&psn.Mask)
	*f = capture.Frame{Raw: p.frame, Kept: len(p.frame),
		Wall: tracetest.Epoch.Add(time.Duration(p.n)*time.Microsecond + p.late)}
	return nil
}

func BenchmarkMerge(b *testing.B) {
	f := tracetest.Parse(b, "A>B WRITE_ONLY psn=+0 len=1024\n", 0)
	raw := f.Records[0].Raw
	out := capture.AtTap{Source: &pipe{frame: bytes.Clone(raw), left: b.N}, Side: trace.A}
	in := capture.AtTap{Source: &pipe{frame: bytes.Clone(raw), left: b.N, late: 100 * time.Microsecond}, Side: trace.B}
	b.ReportAllocs()
	stats, err := Taps(&f.Header, []capture.Source{out, in}, Options{Zero: tracetest.Epoch,
		Window: 10 * vtime.Millisecond}, tracetest.Discard{})
	if err != nil || stats.Fates[trace.Delivered] != uint64(b.N) {
		b.Fatalf("%+v, %v", stats, err)
	}
}

// A packet from an unknown address belongs to the connection of its destination QP.
func TestAtlasOfStrangers(t *testing.T) {
	f := tracetest.Parse(t, "qp conn=1 start=9\nA>B SEND_ONLY psn=+0 len=4\n", 0)
	a := newAtlas(&f.Header)
	for i := range f.Header.Conns {
		end := f.Header.Conns[i].Ends[trace.B]
		var h roce.Frame
		h.Src, h.Dst, h.Packet.DestQP, h.Packet.Opcode = netip.MustParseAddr("9.9.9.9"), end.Addr,
			end.QP.QPN, roce.SendOnly
		if got := a.find(&h); got != (place{i, trace.A}) {
			t.Errorf("for QP %#x: %+v, want connection %d from A", end.QP.QPN, got, i)
		}
		if h.Packet.DestQP = 0x999999; a.find(&h) != (place{-1, trace.A}) {
			t.Errorf("for nobody's QP: %+v", a.find(&h))
		}
	}
}

// A frame of other programs to the port of RoCEv2 is left out unless one of its addresses is an end's or it has none.
func TestStrangersAreLeftOut(t *testing.T) {
	f := tracetest.Parse(t, "A>B SEND_ONLY psn=+0 len=4\nB>A ACK psn=+0 msn=1\n", 0)
	foreign := bytes.Clone(tracetest.FramesAt(f, trace.A)[0].Raw)
	copy(foreign[26:], netip.MustParseAddr("9.9.9.9").AsSlice())
	damaged := bytes.Clone(foreign)
	copy(damaged[30:], netip.MustParseAddr("9.9.9.8").AsSlice()) // the ICRC becomes wrong with the addresses
	for name, c := range map[string]struct {
		raw  []byte
		want int
	}{"to a host of ours": {foreign, 3}, "between strangers": {damaged, 2},
		"no addresses to be seen": {damaged[:20], 3}} {
		out := append(tracetest.FramesAt(f, trace.A), capture.Frame{Raw: c.raw, Kept: len(c.raw),
			Wall: tracetest.Epoch.Add(time.Millisecond)})
		var two, one trace.Collector
		source := &tracetest.Frames{List: out}
		if _, err := Taps(&f.Header, []capture.Source{capture.AtTap{Source: source, Side: trace.A}, tapsOf(f)[1]},
			Options{Foreign: true}, &two); err != nil {
			t.Fatal(err)
		}
		if err := OneTap(&f.Header, trace.A, []capture.Source{&tracetest.Frames{List: out}}, &one); err != nil {
			t.Fatal(err)
		}
		if len(two.Records) != c.want || len(one.Records) != c.want {
			t.Errorf("%s: %d and %d records, want %d", name, len(two.Records), len(one.Records), c.want)
		}
	}
}

// A frame that does not decode was sent at the port of its sender if its addresses are those of two ends.
func TestMalformedAtItsPort(t *testing.T) {
	f := tracetest.Parse(t, "A>B SEND_ONLY psn=+0 len=4\nB>A ACK psn=+0 msn=1\n", 0)
	for name, c := range map[string]struct {
		change byte // of the last byte of the source
		sent   bool
	}{"whole addresses": {0, true}, "a damaged one": {0x40, false}} {
		list := tracetest.FramesAt(f, trace.A)
		raw := bytes.Clone(list[0].Raw)
		raw[29] ^= c.change
		raw[17] -= 4  // of the IP length
		raw[47] ^= 64 // of the destination QP
		var one trace.Collector
		if err := OneTap(&f.Header, trace.A,
			[]capture.Source{&tracetest.Frames{List: []capture.Frame{{Raw: raw, Kept: len(raw),
				Wall: tracetest.Epoch}}}}, &one); err != nil {
			t.Fatal(err)
		}
		if r := one.Records[0]; (r.Sent != vtime.Never) != c.sent {
			t.Errorf("%s: sent %v, want %v", name, r.Sent, c.sent)
		}
	}
}

// Two packets in one order at the tap and in another on the link have both arrived.
func TestMergeOrderOfTheTapDiffers(t *testing.T) {
	f := tracetest.Parse(t, `
@1..40 A>B SEND_ONLY psn=+0 len=4
@2..43 A>B SEND_ONLY psn=+1 len=4
@2.1..42 A>B SEND_ONLY psn=+2 len=4
`, 0)
	k, stats := mergeAll(t, f, Options{Ordered: true, Least: [2]vtime.Duration{30 * vtime.Microsecond, 0}})
	if d := cmp.Diff(summary(t, &f.Header, f.Records), summary(t, &f.Header, k.Records)); d != "" ||
		stats.Fates[trace.Dropped] != 0 {
		t.Errorf("%d dropped (-want +got)\n%s", stats.Fates[trace.Dropped], d)
	}
}

// A loss shortly before the end of the capture is a loss if a packet sent later has arrived, whatever the delay then.
func TestMergeLossNearTheEnd(t *testing.T) {
	f := tracetest.Parse(t, `
@1 A>X SEND_ONLY psn=+0 len=4
@2..40 A>B SEND_ONLY psn=+1 len=4
`, 0)
	for ordered, want := range map[bool]trace.Fate{true: trace.Dropped, false: trace.Unknown} {
		if k, _ := mergeAll(t, f, Options{Ordered: ordered}); k.Records[0].Fate != want {
			t.Errorf("ordered %v: %v, want %v", ordered, k.Records[0].Fate, want)
		}
	}
}
