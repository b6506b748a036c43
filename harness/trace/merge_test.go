package trace

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// frameList is a FrameSource.
type frameList struct {
	list  []Frame
	stats CaptureStats
}

func (l *frameList) Next(f *Frame) error {
	if len(l.list) == 0 {
		return io.EOF
	}
	*f = l.list[0]
	f.Kept = len(f.Raw)
	l.list = l.list[1:]
	return nil
}

func (l *frameList) Stats() CaptureStats { return l.stats }

// epoch is vtime 0 in the frames of framesAt.
var epoch = time.Unix(1_700_000_000, 0)

// tapsOf is what two taps without any comment hold of a fixture.
func tapsOf(f *Fixture) []FrameSource {
	return []FrameSource{AtTap{&frameList{list: framesAt(f, A)}, A}, AtTap{&frameList{list: framesAt(f, B)}, B}}
}

// summary says what a merge must get right: one line per record.
func summary(h *Header, records []Record) (lines []string) {
	for i := range records {
		r := &records[i]
		l := ladder{h: h}
		s := fmt.Sprintf("%s %s %v %d %v %s: %s", r.Sent.Micros(), r.Recv.Micros(), r.From, r.Conn, r.Fate, r.Cause,
			l.packetText(r, &r.Packet, r.ICRC, r.Defect))
		if r.Copy {
			s += " copy"
		}
		if c := r.Changed; c != nil {
			s += " as " + l.packetText(r, &c.Packet, c.ICRC, c.Defect)
		}
		lines = append(lines, s)
	}
	return lines
}

func mergeAll(t *testing.T, f *Fixture, opt MergeOptions) (*keeper, MergeStats) {
	t.Helper()
	var k keeper
	opt.Zero = epoch
	stats, err := Taps(&f.Header, tapsOf(f), opt, &k)
	if err != nil {
		t.Fatal(err)
	}
	return &k, stats
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
		"corrupted in the PSN":     "A>B SEND_ONLY psn=+0 len=4\nA>B SEND_ONLY psn=+1 len=64 got byte=52:77 icrc=bad\nA>B SEND_ONLY psn=+2 len=64\n",
		"rewritten by a middlebox": "A>B SEND_ONLY psn=+0 len=4\nB>A ACK psn=+0 msn=1 got ACK psn=+0 msn=2\n",
		"injected":                 "A>B SEND_ONLY psn=+0 len=4\nX>A NAK psn=+0 msn=0 PSN_SEQ_ERR\nX>B SEND_ONLY psn=+9 len=4 fill=9\n",
		"overtaken":                "@1..9 A>B SEND_ONLY psn=+0 len=4\n@2..5 A>B SEND_ONLY psn=+1 len=4\n@3..4 A>B SEND_ONLY psn=+2 len=4\n",
		"two connections":          "qp conn=1 start=99\nA>B SEND_ONLY psn=+0 len=4\nB>A SEND_ONLY psn=+0 len=4 conn=1\nA>X ACK psn=+0 msn=1 conn=1\n@90 B>A SEND_ONLY psn=+0 len=4 conn=1\n",
	} {
		// Something must follow, or what is in flight at the end is of unknown fate.
		text += "@900000 A>B SEND_ONLY psn=+70 len=1\n@900000.1 B>A SEND_ONLY psn=+70 len=1\n"
		for _, base := range bases {
			f := mustFixture(t, text, base)
			k, stats := mergeAll(t, f, MergeOptions{})
			want := summary(&f.Header, f.Records)
			got := summary(&f.Header, k.records)
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s (-want +got)\n%s\n%+v", name, d, stats)
			}
		}
	}
}

// The link's log tells apart what the taps cannot, and names the cause.
func TestMergeFateLog(t *testing.T) {
	f := mustFixture(t, `
@1 A>X SEND_ONLY psn=+0 len=4 cause=drop[0]
@2..40 A>B SEND_ONLY psn=+0 len=4
@41..43 A>B SEND_ONLY psn=+1 len=4 got icrc=bad cause=corrupt[1]
@900 A>B SEND_ONLY psn=+2 len=4
`, psn.Mask)
	us := func(x float64) vtime.Time { return vtime.Time(x * 1e6) }
	fates := []LinkFate{
		{At: us(2.1), From: A, Opcode: roce.SendOnly, PSN: psn.Mask},
		{At: us(1.1), From: A, Opcode: roce.SendOnly, PSN: psn.Mask, Lost: true, Cause: "drop[0]"},
		{At: us(41.1), From: A, Opcode: roce.SendOnly, PSN: 0, Cause: "corrupt[1]"},
		{At: us(50), From: B, Opcode: roce.Acknowledge, PSN: 7, Lost: true},
	}
	k, stats := mergeAll(t, f, MergeOptions{Fates: fates})
	if d := cmp.Diff(summary(&f.Header, f.Records), summary(&f.Header, k.records)); d != "" || stats.Unexplored != 1 {
		t.Errorf("%+v (-want +got)\n%s", stats, d)
	}
}

// A log of a part of the link tells its own, and nothing of the rest: what it does not name may be lost all the same, and equal
// frames need not keep their order. What cannot have arrived yet has not.
func TestMergePartialLog(t *testing.T) {
	f := mustFixture(t, `
@1 A>X SEND_ONLY psn=+0 len=4 cause=drop[0]
@2 A>X SEND_ONLY psn=+0 len=4 cause=loss
@30..60 A>B SEND_ONLY psn=+0 len=4
@31..61 A>B SEND_ONLY psn=+1 len=4
@3 A>X SEND_ONLY psn=+3 len=4 cause=loss
@100..130 B>A ACK psn=+1 msn=2
@125..155 B>A ACK psn=+1 msn=2
@900..930 A>B SEND_ONLY psn=+2 len=4
`, 0)
	fates := []LinkFate{{At: vtime.Time(1.1 * 1e6), From: A, Opcode: roce.SendOnly, Lost: true, Cause: "drop[0]"}}
	least := 30 * vtime.Microsecond
	for partial, same := range map[bool]bool{true: true, false: false} {
		k, _ := mergeAll(t, f, MergeOptions{Fates: fates, Partial: partial, Ordered: true, Least: [2]vtime.Duration{least, least}, Window: 300 * vtime.Microsecond})
		if d := cmp.Diff(summary(&f.Header, f.Records), summary(&f.Header, k.records)); (d == "") != same {
			t.Errorf("partial %v (-want +got)\n%s", partial, d)
		}
	}
}

// What a part of the link held back on purpose took the rest of the way from then on: neither does what was sent again meanwhile,
// with the same bytes, take its place, nor has it overtaken anything.
func TestMergePartialLogLetsGo(t *testing.T) {
	f := mustFixture(t, `
@1..21 A>B SEND_ONLY psn=+0 len=4
@2..62 A>B SEND_ONLY psn=+1 len=4 cause=delay[0]
@3..63 A>B SEND_ONLY psn=+2 len=4 cause=delay[0]
@44..64 A>B SEND_ONLY psn=+1 len=4
@45..65 A>B SEND_ONLY psn=+2 len=4
@900..910 A>B SEND_ONLY psn=+3 len=4
`, 0)
	us := func(x float64) vtime.Time { return vtime.Time(x * 1e6) }
	fates := []LinkFate{
		{At: us(2.1), Left: us(42), From: A, Opcode: roce.SendOnly, PSN: 1, Cause: "delay[0]"},
		{At: us(3.1), Left: us(43), From: A, Opcode: roce.SendOnly, PSN: 2, Cause: "delay[0]"},
	}
	for _, known := range []bool{true, false} {
		if !known {
			fates[0].Left, fates[1].Left = 0, 0
		}
		k, _ := mergeAll(t, f, MergeOptions{Fates: fates, Partial: true, Ordered: known, Least: [2]vtime.Duration{10 * vtime.Microsecond, 0}})
		if d := cmp.Diff(summary(&f.Header, f.Records), summary(&f.Header, k.records)); (d == "") != known {
			t.Errorf("known %v (-want +got)\n%s", known, d)
		}
	}
}

// What the harness forged is not taken for what the link did to a packet on its way: neither a NAK for the ACK with its PSN,
// nor an ACK with the same bytes, whichever of them arrives first.
func TestMergeForged(t *testing.T) {
	f := mustFixture(t, `
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
		if r := &f.Records[i]; r.Fate == Injected {
			forged = append(forged, Forgery{At: r.Recv, From: r.From, Raw: r.Raw})
		}
	}
	slices.Reverse(forged)
	for name, fates := range map[string][]LinkFate{"with a log": {}, "without a log": nil} {
		k, stats := mergeAll(t, f, MergeOptions{Fates: fates, Forged: forged})
		if d := cmp.Diff(summary(&f.Header, f.Records), summary(&f.Header, k.records)); d != "" || stats.Fates[Injected] != 3 {
			t.Errorf("%s: %+v (-want +got)\n%s", name, stats, d)
		}
	}
}

// What was sent last and has not arrived is lost when the taps watched for long enough after it, and else in doubt.
func TestMergeLastPackets(t *testing.T) {
	f := mustFixture(t, "@1..9 A>B SEND_ONLY psn=+0 len=4\n@20 A>X SEND_ONLY psn=+1 len=4\n", 0)
	for until, want := range map[vtime.Time]Fate{0: Unknown, 30e6: Unknown, 40e6: Dropped} {
		k, stats := mergeAll(t, f, MergeOptions{Until: until})
		if r := &k.records[len(k.records)-1]; r.Fate != want {
			t.Errorf("watched until %s us: %v, want %v; %+v", until.Micros(), r.Fate, want, stats)
		}
	}
}

// A packet that the link held back on purpose is no measure for those that follow: their retransmissions are no copies.
func TestMergeIgnoresScriptedDelay(t *testing.T) {
	f := mustFixture(t, `
@1..41 A>B SEND_ONLY psn=+0 len=4 cause=delay[0]
@2..12 A>B SEND_ONLY psn=+1 len=4
@22..32 A>B SEND_ONLY psn=+0 len=4
@23..33 A>B SEND_ONLY psn=+1 len=4
@900..910 A>B SEND_ONLY psn=+2 len=4
`, 0)
	fates := []LinkFate{{At: vtime.Time(1.1 * 1e6), From: A, Opcode: roce.SendOnly, PSN: 0, Cause: "delay[0]"}}
	k, stats := mergeAll(t, f, MergeOptions{Fates: fates})
	if d := cmp.Diff(summary(&f.Header, f.Records), summary(&f.Header, k.records)); d != "" || stats.Copies != 0 {
		t.Errorf("%+v (-want +got)\n%s", stats, d)
	}
}

// A frame that is missing because a tap lost it says nothing about the link or the sender.
func TestMergeCaptureGaps(t *testing.T) {
	f := mustFixture(t, "@1 A>B SEND_ONLY psn=+0 len=4\n@2 A>B SEND_ONLY psn=+1 len=4\n@3 A>B SEND_ONLY psn=+2 len=4\n@900000 A>B SEND_ONLY psn=+3 len=4\n", 0)
	for _, tap := range []Side{A, B} {
		lists := [2][]Frame{framesAt(f, A), framesAt(f, B)}
		lists[tap] = slices.Delete(lists[tap], 1, 2)
		lists[tap][1].Dropped = 1
		src := []FrameSource{AtTap{&frameList{list: lists[A]}, A}, AtTap{&frameList{list: lists[B], stats: CaptureStats{Dropped: 7}}, B}}
		var k keeper
		stats, err := Taps(&f.Header, src, MergeOptions{Zero: epoch}, &k)
		if err != nil {
			t.Fatal(err)
		}
		if r := k.records[1]; len(k.records) != 4 || r.Fate != Unknown || r.Cause != causeCapture {
			t.Errorf("tap %v lost a frame: %v", tap, summary(&f.Header, k.records))
		}
		gaps := uint64(0)
		for _, g := range stats.Gaps {
			gaps += g.Frames
		}
		if want := map[Side]uint64{A: 1 + 7, B: 7}[tap]; gaps != want {
			t.Errorf("gaps %+v, want %d frames", stats.Gaps, want)
		}
	}
}

// What two taps of one host disagree about the time is not an injection.
func TestMergeArrivalBeforeDeparture(t *testing.T) {
	f := mustFixture(t, "@1..1 A>B SEND_ONLY psn=+0 len=4\n@1..1 B>A SEND_ONLY psn=+0 len=4\n@5..3 B>A SEND_ONLY psn=+1 len=4\n@9 B>A SEND_ONLY psn=+2 len=4\n", 0)
	k, _ := mergeAll(t, f, MergeOptions{})
	last := vtime.Time(0)
	for i := range k.records {
		r := &k.records[i]
		if r.Fate != Delivered || r.Time() < last {
			t.Errorf("%v at %d after %d", r.Fate, r.Time(), last)
		}
		last = r.Time()
	}
	if len(k.records) != 4 {
		t.Errorf("%d records", len(k.records))
	}
}

// lossyRun is a long one-way run with retransmissions, losses and reordering, from a seed.
func lossyRun(seed uint64, n int) string {
	rng := rand.New(rand.NewPCG(seed, 1))
	var b strings.Builder
	at := 1.0
	for i := 0; i < n; i++ {
		at += 0.1 + rng.Float64()
		line := func(to string, delay float64) {
			fmt.Fprintf(&b, "@%.3f..%.3f A>%s SEND_ONLY psn=+%d len=16 A\n", at, at+delay, to, i)
		}
		for rng.IntN(10) == 0 {
			line("X", 0)
			at += 100 + 50*rng.Float64()
		}
		line("B", 20+rng.Float64()*3)
		if rng.IntN(4) == 0 {
			fmt.Fprintf(&b, "@%.3f..%.3f B>A ACK psn=+%d msn=%d\n", at+30, at+50+rng.Float64(), i, i+1)
		}
	}
	return b.String() + fmt.Sprintf("@%.3f A>B SEND_ONLY psn=-1 len=1\n", at+1e6)
}

func TestMergeLongRun(t *testing.T) {
	for seed := range uint64(5) {
		f := mustFixture(t, lossyRun(seed, 2000), psn.Mask-900)
		k, _ := mergeAll(t, f, MergeOptions{})
		if d := cmp.Diff(summary(&f.Header, f.Records), summary(&f.Header, k.records)); d != "" {
			t.Fatalf("seed %d (-want +got)\n%s", seed, d)
		}
	}
}

// A pair of captures of any tool: the connection is learnt, and the frames are matched.
func TestOpenForeignPair(t *testing.T) {
	f := mustFixture(t, "qp A start=77\nqp B start=500\n"+lossyRun(1, 200)+"@3000000 B>A WRITE_FIRST psn=+0 len=1024\n@3000001 B>A WRITE_LAST psn=+1 len=3 A\n@3000009 A>B ACK psn=+1 msn=1\n", 0)
	dir := t.TempDir()
	plainCapture(t, filepath.Join(dir, "A.pcap"), 65535, framesAt(f, A))
	plainCapture(t, filepath.Join(dir, "B.pcap"), 65535, framesAt(f, B))
	h, play, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := f.Header.Conns[0]
	forget(&want)
	// The packet before the start, which ends the run, is the first request as far as anyone can see.
	setStart(&want, A, 77-1)
	if d := cmp.Diff([]Conn{want}, h.Conns, addrs); d != "" {
		t.Errorf("connections (-want +learnt)\n%s", d)
	}
	var k keeper
	if err := play(&k); err != nil {
		t.Fatal(err)
	}
	var fates, wantFates []Fate
	for i := range k.records {
		fates = append(fates, k.records[i].Fate)
	}
	for i := range f.Records {
		wantFates = append(wantFates, f.Records[i].Fate)
	}
	if d := cmp.Diff(wantFates, fates); d != "" {
		t.Errorf("fates (-want +got)\n%s", d)
	}
}

func TestOpenForeignSingle(t *testing.T) {
	f := mustFixture(t, `
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
	plainCapture(t, path, 65535, framesAt(f, A))
	h, play, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	want := slices.Clone(f.Header.Conns)
	for i := range want {
		forget(&want[i])
		setStart(&want[i], B, 0)
	}
	setStart(&want[2], A, 1050)
	if d := cmp.Diff(want, h.Conns, addrs); d != "" || h.Taps != [2]bool{true, false} {
		t.Errorf("taps %v, connections (-want +learnt)\n%s", h.Taps, d)
	}
	var k keeper
	if err := play(&k); err != nil {
		t.Fatal(err)
	}
	for i, r := range k.records {
		seen := [2]bool{r.Sent != vtime.Never, r.Recv != vtime.Never}
		if w := f.Records[i]; r.Fate != Unknown || r.Conn != w.Conn || r.From != w.From || seen != [2]bool{r.From == A, r.From == B} {
			t.Errorf("record %d is %+v", i, r)
		}
	}
}

// Connection management tells what traffic cannot: the other QPN before it is used, the MTU, and the start PSNs.
func TestLearnFromConnectionManagement(t *testing.T) {
	f := mustFixture(t, "A>B SEND_ONLY psn=+7 len=8\n", 100)
	a, b := f.Header.Conns[0].Ends[A], f.Header.Conns[0].Ends[B]
	mad := func(from, to End, m roce.CMMessage) Frame {
		p := roce.Packet{BTH: roce.BTH{Opcode: roce.UDSendOnly, DestQP: roce.CMQueuePair, PKey: roce.DefaultPKey}, DETH: roce.DETH{QKey: roce.CMQKey, SrcQP: 1}}
		p.Payload = roce.AppendCM(nil, 1, m)
		p.Len = len(p.Payload)
		fr := roce.Frame{Src: from.Addr, Dst: to.Addr, SrcPort: 7, TTL: 64, Packet: p}
		return Frame{Raw: fr.AppendTo(nil), Wall: epoch}
	}
	req := &roce.REQ{LocalCommID: 5, QPN: a.QP.QPN, StartingPSN: 900, PathMTU: 5}
	rep := &roce.REP{CommIDs: roce.CommIDs{Local: 6, Remote: 5}, QPN: b.QP.QPN, StartingPSN: 100}
	list := append([]Frame{mad(a, b, req), mad(b, a, rep)}, framesAt(f, A)...)
	h, err := learn([]FrameSource{&frameList{list: list}})
	if err != nil || len(h.Conns) != 1 {
		t.Fatalf("%v: %+v", err, h.Conns)
	}
	got := h.Conns[0].Ends
	if q := got[A].QP; q.QPN != a.QP.QPN || q.DestQPN != b.QP.QPN || q.MTU != 4096 || q.SendPSN != 100 || q.RecvPSN != 900 || got[A].Port != a.Port {
		t.Errorf("end A is %+v", got[A])
	}
	if q := got[B].QP; q.QPN != b.QP.QPN || q.SendPSN != 900 || q.RecvPSN != 100 {
		t.Errorf("end B is %+v", got[B])
	}
}

// pipe is the frames of one tap of an endless run, made as they are read.
type pipe struct {
	frame []byte
	n     int
	left  int
	late  time.Duration
}

func (p *pipe) Next(f *Frame) error {
	if p.left == 0 {
		return io.EOF
	}
	p.left--
	p.n++
	binary.BigEndian.PutUint32(p.frame[50:], uint32(p.n)&psn.Mask)
	*f = Frame{Raw: p.frame, Kept: len(p.frame), Wall: epoch.Add(time.Duration(p.n)*time.Microsecond + p.late)}
	return nil
}

func BenchmarkMerge(b *testing.B) {
	f := mustFixture(b, "A>B WRITE_ONLY psn=+0 len=1024\n", 0)
	raw := f.Records[0].Raw
	out := AtTap{&pipe{frame: bytes.Clone(raw), left: b.N}, A}
	in := AtTap{&pipe{frame: bytes.Clone(raw), left: b.N, late: 100 * time.Microsecond}, B}
	b.ReportAllocs()
	stats, err := Taps(&f.Header, []FrameSource{out, in}, MergeOptions{Zero: epoch, Window: 10 * vtime.Millisecond}, sinkFuncs{})
	if err != nil || stats.Fates[Delivered] != uint64(b.N) {
		b.Fatalf("%+v, %v", stats, err)
	}
}

// A packet from an address that nobody has is the affair of the QP that it is for.
func TestAtlasOfStrangers(t *testing.T) {
	f := mustFixture(t, "qp conn=1 start=9\nA>B SEND_ONLY psn=+0 len=4\n", 0)
	a := newAtlas(&f.Header)
	for i := range f.Header.Conns {
		end := f.Header.Conns[i].Ends[B]
		var h roce.Frame
		h.Src, h.Dst, h.Packet.DestQP, h.Packet.Opcode = netip.MustParseAddr("9.9.9.9"), end.Addr, end.QP.QPN, roce.SendOnly
		if got := a.find(&h); got != (place{i, A}) {
			t.Errorf("for QP %#x: %+v, want connection %d from A", end.QP.QPN, got, i)
		}
		if h.Packet.DestQP = 0x999999; a.find(&h) != (place{-1, A}) {
			t.Errorf("for nobody's QP: %+v", a.find(&h))
		}
	}
}

// Two packets that pass the tap in one order and the link in the other have arrived all the same.
func TestMergeOrderOfTheTapDiffers(t *testing.T) {
	f := mustFixture(t, `
@1..40 A>B SEND_ONLY psn=+0 len=4
@2..43 A>B SEND_ONLY psn=+1 len=4
@2.1..42 A>B SEND_ONLY psn=+2 len=4
`, 0)
	k, stats := mergeAll(t, f, MergeOptions{Ordered: true, Least: [2]vtime.Duration{30 * vtime.Microsecond, 0}})
	if d := cmp.Diff(summary(&f.Header, f.Records), summary(&f.Header, k.records)); d != "" || stats.Fates[Dropped] != 0 {
		t.Errorf("%d dropped (-want +got)\n%s", stats.Fates[Dropped], d)
	}
}

// A loss shortly before the end of the capture is one if what was sent later has arrived, however long packets take there.
func TestMergeLossNearTheEnd(t *testing.T) {
	f := mustFixture(t, `
@1 A>X SEND_ONLY psn=+0 len=4
@2..40 A>B SEND_ONLY psn=+1 len=4
`, 0)
	for ordered, want := range map[bool]Fate{true: Dropped, false: Unknown} {
		if k, _ := mergeAll(t, f, MergeOptions{Ordered: ordered}); k.records[0].Fate != want {
			t.Errorf("ordered %v: %v, want %v", ordered, k.records[0].Fate, want)
		}
	}
}
