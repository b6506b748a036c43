package metrics

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/fixture"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// measure measures a fixture at each start PSN; the numbers must not depend on it.
func measure(t *testing.T, text string, o Options) *Collector {
	t.Helper()
	var first *Collector
	for _, base := range []psn.PSN{0, psn.Half - 2, psn.Mask - 2} {
		c := measureAt(t, text, o, base)
		if first == nil {
			first = c
			continue
		}
		if d := cmp.Diff(first.Summary(), c.Summary()); d != "" {
			t.Errorf("start %v changes the summary\n%s", base, d)
		}
		if d := cmp.Diff(first.Sequences(), c.Sequences()); d != "" {
			t.Errorf("start %v changes the plots\n%s", base, d)
		}
	}
	return first
}

func measureAt(t *testing.T, text string, o Options, base psn.PSN) *Collector {
	t.Helper()
	f, err := fixture.Parse(strings.NewReader(text), base)
	if err != nil {
		t.Fatal(err)
	}
	c := NewCollector(&f.Header, o)
	f.Play(trace.NewTimeline(&f.Header, c))
	return c
}

// counts prints the counters of a summary that are not zero.
func counts(s Summary) string {
	var out []string
	add := func(name string, n int64) {
		if n != 0 {
			out = append(out, fmt.Sprintf("%s=%d", name, n))
		}
	}
	add("packets", s.Packets)
	add("data", s.DataPackets)
	add("again", s.Retransmitted)
	add("spurious", s.Spurious)
	add("lost", s.Lost)
	add("ack", s.Acknowledges)
	add("nak", s.NAKs)
	add("rnr", s.RNRs)
	add("timeouts", s.Timeouts)
	add("againbytes", s.RetransmitByte)
	add("messages", s.Messages)
	add("payload", s.PayloadBytes)
	add("elapsed", s.ElapsedNs)
	add("fct", s.FCT.Count)
	add("recovered", s.RecoveryNs.Count)
	return strings.Join(out, " ")
}

// spread prints a distribution as count and mean, and more when values differ.
func spread(s Spread) string {
	if s.Min == s.Max {
		return fmt.Sprintf("%d×%d", s.Count, s.Mean)
	}
	return fmt.Sprintf("%d×%d..%d mean %d", s.Count, s.Min, s.Max, s.Mean)
}

// A recovery lasts from a loss until all lost packets are acknowledged: here one of a single packet, then one of two,
// the second of which was lost while the first was missing, and a third that does not end.
func TestRecoveries(t *testing.T) {
	s := measure(t, `
A>X WRITE_ONLY psn=+0 len=100 A
A>B WRITE_ONLY psn=+0 len=100 A
B>A ACK psn=+0 msn=1
A>B WRITE_ONLY psn=+1 len=100 A
A>X WRITE_ONLY psn=+2 len=100 A
A>B WRITE_ONLY psn=+3 len=100 A
B>A NAK psn=+2 msn=2 PSN_SEQ_ERR
A>X WRITE_ONLY psn=+4 len=100 A
A>X WRITE_ONLY psn=+2 len=100 A
A>B WRITE_ONLY psn=+2 len=100 A
A>B WRITE_ONLY psn=+3 len=100 A
B>A ACK psn=+3 msn=4
A>B WRITE_ONLY psn=+4 len=100 A
B>A ACK psn=+4 msn=5
A>X WRITE_ONLY psn=+5 len=100 A`, Options{}).Summary()
	if s.Recoveries != 2 || s.SingleLosses != 1 {
		t.Errorf("%d recoveries, %d of one loss; want 2 and 1", s.Recoveries, s.SingleLosses)
	}
}

// Each fixture line is 1 us after the one before, and a packet takes 0.4 us.
var cases = []struct {
	name, text, counts, fct, recovery string
}{
	{"one message", `
A>B WRITE_FIRST psn=+0 len=1024
A>B WRITE_LAST psn=+1 len=100 A
B>A ACK psn=+1 msn=1`,
		"packets=3 data=2 ack=1 messages=1 payload=1124 elapsed=2000 fct=1", "1×2400", "0×0"},

	{"go-back-N after a loss: what followed the gap arrived, and is sent again all the same", `
A>B WRITE_FIRST psn=+0 len=1024
A>X WRITE_MIDDLE psn=+1 len=1024
A>B WRITE_MIDDLE psn=+2 len=1024
A>B WRITE_LAST psn=+3 len=1024 A
B>A NAK psn=+1 msn=0 PSN_SEQ_ERR
A>B WRITE_MIDDLE psn=+1 len=1024
A>B WRITE_MIDDLE psn=+2 len=1024
A>B WRITE_LAST psn=+3 len=1024 A
B>A ACK psn=+3 msn=1`,
		"packets=9 data=7 again=3 spurious=2 lost=1 ack=1 nak=1 againbytes=3072 messages=1 payload=4096 " +
			"elapsed=8000 fct=1 recovered=1",
		"1×8400", "1×4400"},

	{"a responder that keeps what is early: one packet comes again, and the ACK of it delivers the rest", `
A>B WRITE_FIRST psn=+0 len=1024
A>X WRITE_MIDDLE psn=+1 len=1024
A>B WRITE_MIDDLE psn=+2 len=1024
A>B WRITE_LAST psn=+3 len=1000 A
B>A RACK psn=+1 msn=0 sack=+2 PSN_SEQ_ERR
B>A RACK psn=+1 msn=0 sack=+3 PSN_SEQ_ERR
A>B WRITE_MIDDLE psn=+1 len=1024
B>A ACK psn=+3 msn=1`,
		"packets=8 data=5 again=1 lost=1 ack=1 nak=2 againbytes=1024 messages=1 payload=4072 " +
			"elapsed=7000 fct=1 recovered=1",
		"1×7400", "1×5400"},

	{"READ responses numbered apart, and their acknowledgements, which are the requester's", `
A>B X_READ_REQUEST psn=+0 dmalen=3000
B>A ACK psn=+0 msn=1
B>A X_READ_RESP_FIRST psn=+7 len=1024 msn=1
B>X X_READ_RESP_MIDDLE psn=+8 len=1024 msn=1
B>A X_READ_RESP_LAST psn=+9 len=952 msn=1
A>B IRN_READ_ACK psn=+8 msn=0 sack=+8
A>B IRN_READ_ACK psn=+8 msn=0 sack=+9 PSN_SEQ_ERR
B>A X_READ_RESP_MIDDLE psn=+8 len=1024 msn=1`,
		"packets=8 data=5 again=1 lost=1 ack=2 nak=1 againbytes=1024 messages=1 payload=3000 " +
			"elapsed=7400 fct=1 recovered=1",
		"1×7400", "1×4400"},

	{"a retransmission is lost too: one recovery, from the first loss", `
A>X SEND_ONLY psn=+0 len=10
A timeout psn=+0
A>X SEND_ONLY psn=+0 len=10
A timeout psn=+0
A>B SEND_ONLY psn=+0 len=10
B>A ACK psn=+0 msn=1`,
		"packets=4 data=3 again=2 lost=2 ack=1 timeouts=2 againbytes=20 messages=1 payload=10 " +
			"elapsed=5000 fct=1 recovered=1",
		"1×5400", "1×4400"},

	{"spurious although the first copy was still on its way; and below the window", `
@1..9 A>B SEND_ONLY psn=+0 len=10
@2..9.5 A>B SEND_ONLY psn=+0 len=10
@10 B>A ACK psn=+0 msn=1
@11 A>B SEND_ONLY psn=+0 len=10`,
		"packets=4 data=3 again=2 spurious=2 ack=1 againbytes=20 messages=1 payload=10 elapsed=9000 fct=1", "1×9400",
		"0×0"},

	{"a corrupted packet is lost, one rewritten with a good ICRC is not", `
A>B SEND_ONLY psn=+0 len=10 got icrc=bad
A>B SEND_ONLY psn=+1 len=10 got SEND_ONLY psn=+1 len=10 FECN
B>A NAK psn=+0 msn=0 PSN_SEQ_ERR
A>B SEND_ONLY psn=+0 len=10`,
		"packets=4 data=3 again=1 lost=1 nak=1 againbytes=10 recovered=1", "0×0", "1×3400"},

	{"RNR: neither acknowledged nor a sequence NAK", `
A>B SEND_ONLY psn=+0 len=10
B>A RNR psn=+0 msn=0 timer=12
A>B SEND_ONLY psn=+0 len=10
B>A ACK psn=+0 msn=1`,
		"packets=4 data=2 again=1 spurious=1 ack=1 rnr=1 againbytes=10 messages=1 payload=10 elapsed=3000 fct=1",
		"1×3400", "0×0"},

	{"a lost ACK: delivered when it was sent, complete when a later one arrives", `
A>B SEND_ONLY psn=+0 len=10
B>X ACK psn=+0 msn=1
A>B SEND_ONLY psn=+1 len=20
B>A ACK psn=+1 msn=2`,
		"packets=4 data=2 lost=1 ack=2 messages=2 payload=30 elapsed=3000 fct=2", "2×1400..3400 mean 2400", "0×0"},

	{"a NAK acknowledges what is before it", `
A>B SEND_ONLY psn=+0 len=10
A>X SEND_ONLY psn=+1 len=20
A>B SEND_ONLY psn=+2 len=40
B>A NAK psn=+1 msn=1 PSN_SEQ_ERR`,
		"packets=4 data=3 lost=1 nak=1 messages=1 payload=10 elapsed=3000 fct=1", "1×3400", "0×0"},

	{"a selective acknowledgement names the PSN that is expected", `
A>B SEND_ONLY psn=+0 len=10
A>X SEND_ONLY psn=+1 len=20
A>B SEND_ONLY psn=+2 len=40
B>A RACK psn=+1 msn=1 PSN_SEQ_ERR sack=+2
A>B SEND_ONLY psn=+1 len=20
B>A ACK psn=+2 msn=3`,
		"packets=6 data=4 again=1 lost=1 ack=1 nak=1 againbytes=20 messages=3 payload=70 " +
			"elapsed=5000 fct=3 recovered=1",
		"3×3400..4400 mean 3733", "1×3400"},

	{"a copy that the link made is no packet of anybody", `
A>B SEND_ONLY psn=+0 len=10
A>B SEND_ONLY psn=+0 len=10 copy
B>A ACK psn=+0 msn=1
X>A ACK psn=+7 msn=9`,
		"packets=2 data=1 ack=1 messages=1 payload=10 elapsed=2000 fct=1", "1×2400", "0×0"},

	{"READ: data count when they arrive in order, and complete the READ", `
A>B READ_REQUEST psn=+0 dmalen=2100
B>A READ_RESP_FIRST psn=+0 msn=1 len=1024
B>A READ_RESP_MIDDLE psn=+1 len=1024
B>A READ_RESP_LAST psn=+2 msn=1 len=52
A>B SEND_ONLY psn=+3 len=10
B>A ACK psn=+3 msn=2`,
		"packets=6 data=5 ack=1 messages=2 payload=2110 elapsed=5000 fct=2", "2×1400..3400 mean 2400", "0×0"},

	{"READ with a lost response: asked for again from the gap on", `
A>B READ_REQUEST psn=+0 dmalen=3072
B>A READ_RESP_FIRST psn=+0 msn=1 len=1024
B>X READ_RESP_MIDDLE psn=+1 len=1024
B>A READ_RESP_LAST psn=+2 msn=1 len=1024
A>B READ_REQUEST psn=+1 dmalen=2048
B>A READ_RESP_FIRST psn=+1 msn=1 len=1024
B>A READ_RESP_LAST psn=+2 msn=1 len=1024`,
		"packets=7 data=7 again=3 spurious=1 lost=1 againbytes=2048 messages=1 payload=3072 " +
			"elapsed=6400 fct=1 recovered=1",
		"1×6400", "1×3400"},

	{"an ACK does not complete a READ whose data are missing", `
A>B SEND_ONLY psn=+0 len=5
A>B READ_REQUEST psn=+1 dmalen=8
A>B SEND_ONLY psn=+2 len=5
B>X READ_RESP_ONLY psn=+1 msn=2 len=8
B>A ACK psn=+2 msn=3
@20 end`,
		"packets=5 data=4 lost=1 ack=1 messages=1 payload=10 elapsed=4000 fct=1", "1×4400", "0×0"},

	{"a READ of unknown span ends with its last response", `
unknown
qp mtu=0
A>B READ_REQUEST psn=+0 dmalen=600
B>A READ_RESP_FIRST psn=+0 msn=1 len=512
B>A READ_RESP_LAST psn=+1 msn=1 len=88
A>B SEND_ONLY psn=+2 len=10
B>A ACK psn=+2 msn=2`,
		"packets=5 data=4 ack=1 messages=2 payload=610 elapsed=4000 fct=2", "2×1400..2400 mean 1900", "0×0"},

	{"atomics complete by their response", `
A>B FETCH_ADD psn=+0
A>B FETCH_ADD psn=+1
B>A ATOMIC_ACK psn=+0 msn=1
B>A ATOMIC_ACK psn=+1 msn=2`,
		"packets=4 data=4 messages=2 fct=2", "2×2400", "0×0"},

	{"READ responses numbered apart may come early", `
A>B X_READ_REQUEST psn=+0 dmalen=3072
B>X X_READ_RESP_FIRST psn=+0 msn=1 len=1024
B>A X_READ_RESP_MIDDLE psn=+1 msn=1 len=1024
B>A X_READ_RESP_LAST psn=+2 msn=1 len=1024
A>B IRN_READ_ACK psn=+0 msn=0 sack=+2
B>A X_READ_RESP_FIRST psn=+0 msn=1 len=1024`,
		"packets=6 data=5 again=1 lost=1 ack=1 againbytes=1024 messages=1 payload=3072 elapsed=5400 fct=1 recovered=1",
		"1×5400", "1×4400"},

	{"both sides are requesters", `
A>B SEND_ONLY psn=+0 len=10
B>A SEND_ONLY psn=+0 len=30
B>A ACK psn=+0 msn=1
A>B ACK psn=+0 msn=1`,
		"packets=4 data=2 ack=2 messages=2 payload=40 elapsed=3000 fct=2", "2×2400", "0×0"},

	{"only the requester was tapped: no fates, so nothing is lost or spurious", `
taps A
A>B SEND_ONLY psn=+0 len=10
A>B SEND_ONLY psn=+1 len=10
B>A ACK psn=+0 msn=1
A>B SEND_ONLY psn=+1 len=10
B>A ACK psn=+1 msn=2`,
		"packets=5 data=3 again=1 ack=2 againbytes=10 messages=2 payload=20 elapsed=4400 fct=2",
		"2×2400..3400 mean 2900", "0×0"},

	{"only the responder was tapped: a second arrival is spurious", `
taps B
A>B SEND_ONLY psn=+0 len=10
A>B SEND_ONLY psn=+0 len=10
B>A ACK psn=+0 msn=1`,
		"packets=3 data=2 again=1 spurious=1 ack=1 againbytes=10 messages=1 payload=10 elapsed=1600 fct=1", "1×1600",
		"0×0"},

	{"a message whose end nobody saw does not hold up the others", `
A>B SEND_FIRST psn=+0 len=1024
A>B SEND_ONLY psn=+2 len=10
B>A ACK psn=+2 msn=2`,
		"packets=3 data=2 ack=1 messages=2 payload=1034 elapsed=2000 fct=2", "2×1400..2400 mean 1900", "0×0"},

	{"nothing at all", ``, "", "0×0", "0×0"},
}

func TestCounts(t *testing.T) {
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			s := measure(t, tc.text, Options{}).Summary()
			got := []string{counts(s), spread(s.FCT), spread(s.RecoveryNs)}
			if d := cmp.Diff([]string{tc.counts, tc.fct, tc.recovery}, got); d != "" {
				t.Errorf("counts, FCT, recovery (-want +got)\n%s", d)
			}
		})
	}
}

// A single message of 1000 bytes delivered in 2 us: 4 Gb/s.
const simple = `
A>B SEND_ONLY psn=+0 len=1000
@3 B>A ACK psn=+0 msn=1
@11 end`

func TestRates(t *testing.T) {
	const wire = 8 + 14 + 20 + 8 + 12 + 1000 + 4 + 4 + 12 // preamble to gap
	for _, tc := range []struct {
		name             string
		o                Options
		goodput, through float64
		utilised         float64
	}{
		{"to the last byte", Options{Rates: [2]unit.Rate{8 * unit.Gbps, unit.Gbps}}, 4e9, wire * 8 / 2e-6, 0.5},
		{"to the end of a timed run", Options{Timed: true, Rates: [2]unit.Rate{8 * unit.Gbps, 0}}, 0.8e9,
			wire * 8 / 10e-6, 0.1},
		{"unlimited", Options{}, 4e9, wire * 8 / 2e-6, 0},
	} {
		s := measure(t, simple, tc.o).Summary()
		for _, x := range []struct {
			name      string
			got, want float64
		}{{"goodput", s.GoodputBps, tc.goodput}, {"throughput", s.ThroughputBps, tc.through},
			{"utilisation", s.Utilisation, tc.utilised}} {
			if d := x.got - x.want; d > 1e-9*x.want || d < -1e-9*x.want {
				t.Errorf("%s: %s is %g, want %g", tc.name, x.name, x.got, x.want)
			}
		}
	}
}

func TestUtilisationOfBothDirections(t *testing.T) {
	c := measure(t, `
A>B SEND_ONLY psn=+0 len=1000
B>A SEND_ONLY psn=+0 len=1000
@3 B>A ACK psn=+0 msn=1
@3 A>B ACK psn=+0 msn=1`, Options{Rates: [2]unit.Rate{12 * unit.Gbps, 4 * unit.Gbps}})
	if got := c.Summary().Utilisation; got != 0.5 {
		t.Errorf("16000 bits in 2 us of 16 Gb/s: utilisation %g, want 0.5", got)
	}
}

func TestSequences(t *testing.T) {
	c := measure(t, `
A>B WRITE_FIRST psn=+0 len=1024
A>X WRITE_MIDDLE psn=+1 len=1024
A>B WRITE_LAST psn=+2 len=1024 A
B>A NAK psn=+1 msn=0 PSN_SEQ_ERR
A>X WRITE_MIDDLE psn=+1 len=1024
A>B WRITE_MIDDLE psn=+1 len=1024
B>A ACK psn=+2 msn=1`, Options{})
	us := func(tenths int64) vtime.Time { return vtime.Time(tenths) * vtime.Time(vtime.Microsecond) / 10 }
	want := []Sequence{{Conn: 0, From: "A", Marks: []Mark{
		{us(10), 0, SentFirst}, {us(20), 1, LostMark}, {us(30), 2, SentFirst}, {us(44), 1, NakMark},
		{us(50), 1, LostMark}, {us(60), 1, SentAgain}, {us(74), 2, AckMark},
	}}}
	if f := measureAt(t, "A>B SEND_ONLY psn=+0 len=1\n", Options{}, 0).Sequences(); len(f) != 1 ||
		f[0].Marks[0].At == 0 {
		t.Errorf("first line is at %v", f)
	}
	got := c.Sequences()
	shift := got[0].Marks[0].At.Sub(us(10))
	for i := range got[0].Marks {
		got[0].Marks[i].At = got[0].Marks[i].At.Add(-shift)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

// A capture without acknowledgements, of every 16th request over several wraps, needs bounded memory and is counted
// correctly.
func TestOneWayCaptureStaysBounded(t *testing.T) {
	h := trace.Header{Taps: [2]bool{true, false}, Conns: make([]trace.Conn, 1)}
	c := NewCollector(&h, Options{})
	g := newGenerator()
	const n = 6 * psn.Half / 16
	for range n {
		c.Sight(g.request())
		g.n += 15
	}
	s := c.Summary()
	if s.DataPackets != n || s.Retransmitted != 0 {
		t.Errorf("%d data packets, %d sent again; want %d and 0", s.DataPackets, s.Retransmitted, n)
	}
	if got := len(c.halves[0][0].requests.slots); got > mostSlots {
		t.Errorf("window of %d slots, want at most %d", got, mostSlots)
	}
}

func TestBudgetIsShared(t *testing.T) {
	budget := 3 * leastSlots
	var a, b space
	a.begin(5, 0)
	b.begin(5, 0)
	a.extend(10*leastSlots, &budget)
	b.extend(10*leastSlots, &budget)
	if len(a.slots) != 2*leastSlots || len(b.slots) != leastSlots || budget != 0 {
		t.Errorf("%d and %d slots, %d left", len(a.slots), len(b.slots), budget)
	}
	if a.lo != 8*leastSlots+1 || a.find(a.lo-1) != nil || a.find(a.lo) == nil ||
		a.offset(psn.PSN(5).Add(10*leastSlots)) != 10*leastSlots {
		t.Errorf("window [%d, %d)", a.lo, a.next)
	}
}

// A QPN that is used again, with PSNs far from the former ones, needs no memory for those between.
func TestLeapOfPSNs(t *testing.T) {
	f, err := fixture.Parse(strings.NewReader("@1..9 A>B SEND_ONLY psn=+0 len=1 A\n@10..19 B>A ACK psn=+0 msn=1\n"+
		"@20..29 A>B READ_REQUEST psn=+1 dmalen=8\n@30..39 A>B READ_REQUEST psn=+4000000 dmalen=8\n"+
		"@40..49 B>A READ_RESP_ONLY psn=+4000000 len=8 msn=1\n"), 0)
	if err != nil {
		t.Fatal(err)
	}
	c := NewCollector(&f.Header, Options{})
	f.Play(trace.NewTimeline(&f.Header, c))
	if used := totalSlots - c.budget; used > 1<<10 {
		t.Errorf("%d slots", used)
	}
	if got := c.Summary().Messages; got != 2 {
		t.Errorf("%d messages, want 2", got)
	}
}
