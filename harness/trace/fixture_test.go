package trace

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// bases are the starts at which everything relative must look the same: none, the serial half, and the wrap.
var bases = []psn.PSN{0, psn.Half - 2, psn.Mask - 2}

func mustFixture(t testing.TB, text string, base psn.PSN) *Fixture {
	t.Helper()
	f, err := ParseFixture(strings.NewReader(text), base)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

const gap = `
# B repeats its NAK while the missing packet is still on its way.
qp mtu=1024 timeout=14 retry=7 rnr=7 qd=16 rd=4
qp A start=5
A post wr=1 WRITE len=2048 va=0x1000 rkey=0x7
A>B WRITE_FIRST  psn=+0 len=1024
A>X WRITE_MIDDLE psn=+1 len=1024            # lost
A>B WRITE_LAST   psn=+2 len=100 A
@10..12.5 B>A NAK psn=+1 msn=0 PSN_SEQ_ERR
B>A NAK psn=+1 msn=0 PSN_SEQ_ERR   // want "second NAK for psn=\+1" "again"
A>B WRITE_MIDDLE psn=+1 len=1024 cause=duplicate copy
X>B WRITE_ONLY psn=+9 len=7
A>B WRITE_ONLY psn=+1 len=8 got WRITE_ONLY psn=+9 len=8 icrc=bad
A cqe wr=1 SUCCESS
@40 end
`

func TestFixtureRecords(t *testing.T) {
	for _, base := range bases {
		f := mustFixture(t, gap, base)
		var got []string
		for i := range f.Records {
			r := &f.Records[i]
			opt := roce.TextOptions{Relative: true, Base: base.Add(5), Omit: roce.OmitForLadder}
			line := fmt.Sprintf("%d %s %s %v %v %q %s icrc=%d", f.RecordLines[i], r.Sent.Micros(), r.Recv.Micros(), r.From, r.Fate,
				r.Cause, r.Packet.AppendText(nil, opt), r.ICRC)
			if r.Changed != nil {
				line += " got " + string(r.Changed.Packet.AppendText(nil, opt)) + fmt.Sprintf(" icrc=%d", r.Changed.ICRC)
			}
			got = append(got, line)
		}
		want := []string{
			`6 2.000 2.400 A delivered "" WRITE_FIRST psn=+0 len=1024 icrc=1`,
			`7 3.000 - A dropped "loss" WRITE_MIDDLE psn=+1 len=1024 icrc=1`,
			`8 4.000 4.400 A delivered "" WRITE_LAST psn=+2 len=100 A icrc=1`,
			`9 10.000 12.500 B delivered "" NAK psn=+1 msn=0 PSN_SEQ_ERR icrc=1`,
			`10 11.000 11.400 B delivered "" NAK psn=+1 msn=0 PSN_SEQ_ERR icrc=1`,
			`11 - 12.400 A delivered "duplicate" WRITE_MIDDLE psn=+1 len=1024 icrc=1`,
			`12 - 13.000 A injected "" WRITE_ONLY psn=+9 len=7 icrc=1`,
			`13 14.000 14.400 A corrupted "corrupt" WRITE_ONLY psn=+1 len=8 icrc=1 got WRITE_ONLY psn=+9 len=8 icrc=2`,
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("base %v (-want +got)\n%s", base, d)
		}
		if f.Until != vtime.Time(40*vtime.Microsecond) {
			t.Errorf("ends at %v", f.Until.Micros())
		}
	}
}

func TestFixtureFrames(t *testing.T) {
	f := mustFixture(t, gap, 0)
	first := &f.Records[0]
	if q := f.Header.Conns[0].Ends[A].QP; q.SendPSN != 5 || q.QueueDepth != 16 || f.Header.Conns[0].Ends[B].QP.RecvPSN != 5 {
		t.Errorf("QP is %+v", q)
	}
	want := roce.RETH{VA: 0x1000, RKey: 7, DMALen: 1024 + 1024 + 100}
	if d := cmp.Diff(want, first.Packet.RETH); d != "" {
		t.Errorf("RETH of the first packet (-want +got)\n%s", d)
	}
	if !roce.CheckICRC(first.Raw) || first.Defect != "" || len(first.Packet.Payload) != 1024 || first.Packet.DestQP != 0x22 {
		t.Errorf("frame: icrc %v, defect %q, %d bytes to QP %#x", roce.CheckICRC(first.Raw), first.Defect, len(first.Packet.Payload), first.Packet.DestQP)
	}
	lost, again := &f.Records[1], &f.Records[5]
	if lost.Sum == 0 || lost.Sum != again.Sum || lost.Sum == first.Sum {
		t.Errorf("payload sums %x lost, %x again, %x other", lost.Sum, again.Sum, first.Sum)
	}
	if first.WireBytes != len(first.Raw)+24 {
		t.Errorf("%d bytes on the wire for a frame of %d", first.WireBytes, len(first.Raw))
	}
}

func TestFixtureWantsAndLines(t *testing.T) {
	f := mustFixture(t, gap, 0)
	if len(f.Wants) != 1 || len(f.Wants[10]) != 2 || !f.Wants[10][0].MatchString("a second NAK for psn=+1 came") {
		t.Errorf("wants: %v", f.Wants)
	}
	for _, tc := range []struct {
		index uint64
		at    vtime.Time
		want  int
	}{{4, 0, 10}, {^uint64(0), vtime.Time(1500 * vtime.Nanosecond), 5}, {^uint64(0), 0, 0}, {^uint64(0), vtime.Never, 14}} {
		if got := f.Line(tc.index, tc.at); got != tc.want {
			t.Errorf("finding at record %d, time %d is on line %d, want %d", tc.index, tc.at, got, tc.want)
		}
	}
}

const eventsText = `qp conn=1 start=100
A post wr=1 WRITE_IMM len=1024 va=0x1000 rkey=0x7
B receive wr=9 len=4096
A cqe wr=1 LOC_LEN_ERR psn=+2
B recv wr=9 SEND_IMM len=100 imm=5 psn=+3
A timeout psn=+3 conn=1
A fatal RETRY_EXC_ERR
B store va=0x1000 len=1024 sum=7
A timer 134000us
A timer off
B count icrc=1
A probe snd_una=+3 cwnd=17
B probe epsn=+4 conn=1
B memory mismatch=0
`

func TestFixtureEvents(t *testing.T) {
	f := mustFixture(t, eventsText, psn.Mask)
	us := func(n int) vtime.Time { return vtime.Time(n) * vtime.Time(vtime.Microsecond) }
	want := []Event{
		{At: us(1), Kind: Post, Body: engine.Event{ID: 1, Op: engine.OpWriteImm}, VA: 0x1000, Len: 1024, RKey: 7},
		{At: us(2), Side: B, Kind: Receive, Body: engine.Event{ID: 9}, Len: 4096},
		{At: us(3), Kind: CQE, Body: engine.Event{ID: 1, Op: engine.OpWriteImm, Status: engine.StatusLocalLength, PSN: 1}},
		{At: us(4), Side: B, Kind: Recv, Body: engine.Event{Kind: engine.ReceiveCQE, ID: 9, Op: engine.OpSendImm, Len: 100, Imm: 5, PSN: 2}},
		{At: us(5), Kind: Timeout, Conn: 1, Body: engine.Event{Kind: engine.Timeout, PSN: 102}},
		{At: us(6), Kind: Fatal, Body: engine.Event{Kind: engine.Fatal, Status: engine.StatusRetryExceeded}},
		{At: us(7), Side: B, Kind: Store, VA: 0x1000, Len: 1024, Sum: 7},
		{At: us(8), Kind: Timer, Deadline: us(134008)},
		{At: us(9), Kind: Timer, Deadline: vtime.Never},
		{At: us(10), Side: B, Kind: Count, Name: "icrc", Value: 1},
		{At: us(11), Kind: Probe, Name: "snd_una", Value: 2},
		{At: us(11), Kind: Probe, Name: "cwnd", Value: 17},
		{At: us(12), Side: B, Conn: 1, Kind: Probe, Name: "epsn", Value: 3},
		{At: us(13), Side: B, Kind: Memory, Name: "mismatch"},
	}
	// Connection 1 starts 100 above the base for both sides.
	want[4].Body.PSN = psn.New(psn.Mask).Add(103)
	want[12].Value = int64(psn.New(psn.Mask).Add(104))
	if d := cmp.Diff(want, f.Events); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

const brokenFrames = `
A>B WRITE_ONLY psn=+0 len=8
A>B WRITE_ONLY psn=+0 len=8 iplen=+1
A>B WRITE_ONLY psn=+0 len=8 udplen=-2
A>B WRITE_ONLY psn=+0 len=8 dport=4790
A>B WRITE_ONLY psn=+0 len=8 cut=4
A>B ACK psn=+0 msn=1 extra=4
A>B WRITE_ONLY psn=+0 len=8 df=0 tos=2 ttl=9 sport=77 id=5
A>B WRITE_ONLY psn=+0 len=5 byte=77:1
A>B WRITE_ONLY psn=+0 len=8 fill=1 qp=0x99 icrc=bad
A>B WRITE_ONLY psn=+0 len=8 got ttl=63
A>B WRITE_ONLY psn=+0 len=8 raw=off sum=9
A>B OP_0x15 psn=+0
`

func TestFixtureBrokenFrames(t *testing.T) {
	f := mustFixture(t, brokenFrames, 0)
	defects := []string{"", "ip length", "udp length", "udp destination port", "", "payload", "", "", "", "", "", "opcode"}
	for i := range f.Records {
		r := &f.Records[i]
		if (r.Defect == "") != (defects[i] == "") || !strings.Contains(r.Defect, defects[i]) {
			t.Errorf("record %d: defect %q, want %q", i, r.Defect, defects[i])
		}
	}
	if l := f.Records[4].Packet.Len; l != 4 {
		t.Errorf("cut packet has %d bytes", l)
	}
	var fr roce.Frame
	if err := fr.Decode(f.Records[6].Raw); err != nil || fr.DF || fr.TOS != 2 || fr.TTL != 9 || fr.SrcPort != 77 || fr.ID != 5 {
		t.Errorf("header words: %+v, %v", fr, err)
	}
	padded := f.Records[7]
	if padded.ICRC != Good || padded.Raw[77] != 1 || padded.Packet.Pad != 3 {
		t.Errorf("byte=77:1 gave %x, ICRC %v, pad %d", padded.Raw[76:], padded.ICRC, padded.Packet.Pad)
	}
	if bad := f.Records[8]; bad.ICRC != Bad || bad.Packet.DestQP != 0x99 || bad.Sum == f.Records[0].Sum {
		t.Errorf("icrc=bad qp=0x99 fill=1 gave %v %v", bad.ICRC, bad.Packet)
	}
	if c := f.Records[9].Changed; c.ICRC != Good || cmp.Equal(c.Raw, f.Records[9].Raw) {
		t.Errorf("a changed TTL must leave the ICRC good and the bytes different")
	}
	if r := f.Records[10]; r.Raw != nil || r.Sum != 9 || r.Packet.Len != 8 {
		t.Errorf("raw=off gave %+v", r)
	}
}

func TestFixtureOneTapAndUnknown(t *testing.T) {
	f := mustFixture(t, "taps B\nunknown\nbytes off\nreports cqe timers\nA>B SEND_ONLY psn=+0 len=3\nB>A ACK psn=+0 msn=1\nX>B ACK psn=+0 msn=1\n", 0)
	if r := f.Records[0]; r.Sent != vtime.Never || r.Recv == vtime.Never || r.Fate != Unknown || r.Raw != nil || r.ICRC != Unchecked {
		t.Errorf("tap B sees %+v", r)
	}
	if r := f.Records[1]; r.Sent == vtime.Never || r.Recv != vtime.Never {
		t.Errorf("tap B sees %+v", r)
	}
	if f.Header.Bytes || f.Header.Reports != ReportCQE|ReportTimers {
		t.Errorf("header %+v", f.Header)
	}
	if e := f.Header.Conns[0].Ends[A]; e.Known || e.QP.QPN == 0 || e.QP.QueueDepth != 0 {
		t.Errorf("unknown end is %+v", e)
	}
}

func TestFixtureErrors(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"A>B WRITE_NOWHERE psn=+0", "line 1: packet"},
		{"\nC>B ACK psn=+0 msn=0", `line 2: C>B: want A>B`},
		{"A>A ACK psn=+0 msn=0", "want A>B"},
		{"A>B", "no packet"},
		{"A>B ACK psn=+0 msn=0 conn=1", "qp conn=1"},
		{"A>B ACK psn=+0 msn=0 icrc=odd", "want bad or good"},
		{"A>B ACK psn=+0 msn=0 ttl=x", "ttl=x"},
		{"A>B ACK psn=+0 msn=0 sum=x", "line 1: sum="},
		{"A>B ACK psn=+0 msn=0 got ACK psn=+0 msn=0", "line 1: got: the bytes"},
		{"A>B ACK psn=+0 msn=0\nqp mtu=1", "header lines come before"},
		{"qp speed=9", "unknown attribute"},
		{"qp conn=2", "without gaps"},
		{"taps C", "want A, B or AB"},
		{"bench a b", "want one name"},
		{"taps A\nX>B ACK psn=+0 msn=0", "no tap sees"},
		{"reports everything", "want none"},
		{"bytes maybe", "on or off"},
		{"start x", "offset"},
		{"@soon A cqe wr=1", "microseconds"},
		{"@5", "nothing after"},
		{"A dance", "want one of post"},
		{"hello", "want a packet"},
		{"A cqe wr=x", "want a number"},
		{"A cqe ok=1", "unknown word"},
		{"A cqe GREAT", "unknown word"},
		{"A timer soon", "duration"},
		{"A probe x", "name=number"},
		{"A timeout psn=p", "want a PSN"},
		{"# fine\nA cqe // want nonsense", "line 2: want nonsense"},
		{`A cqe // want "("`, "missing closing"},
		{strings.Repeat("x", 5000), "line 1: bufio"},
	} {
		_, err := ParseFixture(strings.NewReader(tc.text), 0)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%.40q: error %v, want %q", tc.text, err, tc.want)
		}
	}
}

// A sink that keeps the order in which things come.
type orderSink struct{ got []string }

func (s *orderSink) Packet(r *Record)  { s.got = append(s.got, r.Packet.Opcode.String()) }
func (s *orderSink) Event(e *Event)    { s.got = append(s.got, e.Kind.String()) }
func (s *orderSink) End(at vtime.Time) { s.got = append(s.got, "end "+at.Micros()) }

func TestFixturePlayOrder(t *testing.T) {
	f := mustFixture(t, "@5 A>B SEND_ONLY psn=+0\n@5 A cqe wr=1\n@1 B>A ACK psn=+0 msn=0\n@5 A>B SEND_FIRST psn=+0 len=4\n", 0)
	var s orderSink
	f.Play(&s)
	if d := cmp.Diff([]string{"ACKNOWLEDGE", "SEND_ONLY", "cqe", "SEND_FIRST", "end 5.400"}, s.got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if d := cmp.Diff([]int{3, 1, 4}, f.RecordLines); d != "" {
		t.Errorf("lines (-want +got)\n%s", d)
	}
}

func FuzzParseFixture(f *testing.F) {
	f.Add(gap)
	f.Add("A>B WRITE_ONLY psn=+0 len=8 cut=99 extra=3 iplen=-30 byte=3:3 got udplen=+9")
	f.Add("X>B LOWAR len=4 byte=12:6")
	f.Fuzz(func(t *testing.T, text string) {
		fx, err := ParseFixture(strings.NewReader(text), 3)
		if err != nil {
			return
		}
		last := vtime.Time(0)
		fx.Play(sinkFuncs{packet: func(r *Record) {
			if r.Time() < last {
				t.Fatalf("record at %d after %d", r.Time(), last)
			}
			last = r.Time()
		}, event: func(e *Event) {
			if e.At < last {
				t.Fatalf("event at %d after %d", e.At, last)
			}
			last = e.At
		}})
	})
}

// sinkFuncs is a sink made of functions, any of which may be nil.
type sinkFuncs struct {
	packet func(*Record)
	event  func(*Event)
	end    func(vtime.Time)
}

func (s sinkFuncs) Packet(r *Record) {
	if s.packet != nil {
		s.packet(r)
	}
}

func (s sinkFuncs) Event(e *Event) {
	if s.event != nil {
		s.event(e)
	}
}

func (s sinkFuncs) End(at vtime.Time) {
	if s.end != nil {
		s.end(at)
	}
}
