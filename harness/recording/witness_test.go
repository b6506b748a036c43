package recording

import (
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/recording/evidence"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/tracetest"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// oneLost is a request that is lost among others, and its NAK.
const oneLost = "A>B SEND_ONLY psn=+0 len=8\nA>X SEND_ONLY psn=+1 len=8\nA>B SEND_ONLY psn=+2 len=8\n" +
	"A>B SEND_ONLY psn=+3 len=8 A\nB>A NAK psn=+1 msn=1 PSN_SEQ_ERR\n"

// doubted are captures at the port of the responder, and the doubts about them.
var doubted = []struct{ name, text, want string }{
	{"complete", "A>B WRITE_FIRST psn=+0 len=1024\nA>B WRITE_LAST psn=+1 len=8 A\nB>A ACK psn=+1 msn=1\n", ""},
	{"lost, and asked for", "A>B WRITE_FIRST psn=+0 len=1024\nA>X WRITE_MIDDLE psn=+1 len=1024\nA>B " +
		"WRITE_LAST psn=+2 len=8 A\nB>A NAK psn=+1 msn=0 PSN_SEQ_ERR\nA>B WRITE_MIDDLE psn=+1 len=1024\nA>B " +
		"WRITE_LAST psn=+2 len=8 A\nB>A ACK psn=+2 msn=1\n", ""},
	{"missed", "A>B SEND_ONLY psn=+0 len=8 A\nB>A ACK psn=+0 msn=1\nA>B SEND_ONLY psn=+2 len=8 " +
		"A\nB>A ACK psn=+2 msn=3\n", "psn=+1 was acknowledged"},
	{"missed at the end", "A>B SEND_ONLY psn=+0 len=8 A\nB>A ACK psn=+1 msn=2\n", "psn=+1 was acknowledged"},
	{"acknowledged ahead", "A>B SEND_ONLY psn=+0 len=8 A\nB>A ACK psn=+1 msn=2\nA>B SEND_ONLY psn=+1 len=8 " +
		"A\nB>A ACK psn=+1 msn=2\n", ""},
	{"mid-recovery", "A>B WRITE_MIDDLE psn=+5 len=1024\nB>A NAK psn=+3 msn=0 PSN_SEQ_ERR\nA>B " +
		"WRITE_MIDDLE psn=+3 len=1024\n", "begins when"},
	{"missed, and what follows asked for", "A>B SEND_ONLY psn=+0 len=8\nA>B SEND_ONLY psn=+2 len=8\nA>B " +
		"SEND_ONLY psn=+4 len=8 A\nB>A NAK psn=+3 msn=3 PSN_SEQ_ERR\n", "psn=+1 was acknowledged"},
	{"missed, and kept", "A>B SEND_ONLY psn=+0 len=8\nA>B SEND_ONLY psn=+3 len=8 A\nB>A RACK psn=+1 msn=1 " +
		"sack=+2 PSN_SEQ_ERR\n",
		"psn=+2 was acknowledged"},
	{"an answer missed", "A>B READ_REQUEST psn=+0 dmalen=8 A\nA>B SEND_ONLY psn=+1 len=8 A\nB>A ACK psn=+1 msn=2\n",
		"psn=+0 was asked for"},
	{"an answer lost, and asked for", "A>B READ_REQUEST psn=+0 dmalen=8 A\nA>B SEND_ONLY psn=+1 len=8 " +
		"A\nB>A ACK psn=+1 msn=2\nA>B READ_REQUEST psn=+0 dmalen=8 A\nB>A READ_RESP_ONLY psn=+0 msn=2 len=8\n", ""},
	{"a request missed", "A>B READ_REQUEST psn=+0 dmalen=8 A\nB>A READ_RESP_ONLY psn=+0 msn=1 len=8\n" +
		"A>B SEND_ONLY psn=+1 len=8 A\nB>A ACK psn=+1 msn=2\nB>A READ_RESP_ONLY psn=+0 msn=2 len=8\n",
		"psn=+0 was answered again"},
	{"an answer repeated from within, and not its request", "A>B READ_REQUEST psn=+0 dmalen=1032 A\n" +
		"B>A READ_RESP_FIRST psn=+0 msn=1 len=1024\nB>A READ_RESP_LAST psn=+1 msn=1 len=8\n" +
		"@5000 B>A READ_RESP_ONLY psn=+1 msn=1 len=8\n", "psn=+1 was answered again"},
	{"a READ sent again from another PSN", "A>B READ_REQUEST psn=+0 dmalen=3072 A\n" +
		"A>B READ_REQUEST psn=+3 dmalen=8 A\nB>A READ_RESP_FIRST psn=+0 msn=1 len=1024\n" +
		"B>A READ_RESP_MIDDLE psn=+1 len=1024\nB>A READ_RESP_LAST psn=+2 msn=1 len=1024\n" +
		"@5000 A>B READ_REQUEST psn=+2 dmalen=1024 A\nB>A READ_RESP_ONLY psn=+3 msn=2 len=8\n" +
		"B>A READ_RESP_FIRST psn=+1 msn=2 len=1024\nB>A READ_RESP_LAST psn=+2 msn=2 len=1024\n", ""},
	{"a READ sent again, whose PSN answers duplicates too", "A>B SEND_ONLY psn=+0 len=8 A\nA>B READ_REQUEST psn=+1 " +
		"dmalen=8 A\nB>A ACK psn=+0 msn=1\nB>A READ_RESP_ONLY psn=+1 msn=2 len=8\n@5000 A>B SEND_ONLY psn=+0 len=8 A\n" +
		"A>B READ_REQUEST psn=+1 dmalen=8 A\n@5010 A>B READ_REQUEST psn=+1 dmalen=8 A\nB>A ACK psn=+1 msn=2\n" +
		"@5020 A>B READ_REQUEST psn=+1 dmalen=8 A\n@6000 B>A READ_RESP_ONLY psn=+1 msn=2 len=8\n" +
		"@6010 B>A READ_RESP_ONLY psn=+1 msn=2 len=8\n@6020 B>A READ_RESP_ONLY psn=+1 msn=2 len=8\n", ""},
	{"a wrong answer", "A>B FETCH_ADD psn=+0 va=0x10000000\nA>B SEND_ONLY psn=+1 len=8 A\nB>A ACK psn=+0 " +
		"msn=1\nB>A ACK psn=+1 msn=2\n", ""},
	{"data with the syndrome of a NAK", "A>B FETCH_ADD psn=+0 va=0x10000000\nA>B SEND_ONLY psn=+1 len=8 A\n" +
		"B>A ATOMIC_ACK psn=+0 msn=1 syndrome=0x2c\n@5000 A>B SEND_ONLY psn=+1 len=8 A\nB>A ACK psn=+1 msn=2\n", ""},
	{"sent again, and missed", "A>B SEND_ONLY psn=+0 len=8\nA>B SEND_ONLY psn=+1 len=8 A\nB>A NAK psn=+0 msn=0 " +
		"PSN_SEQ_ERR\nA>B SEND_ONLY psn=+0 len=8\nB>A ACK psn=+1 msn=2\n", "psn=+1 was refused and acknowledged"},
	{"refused, and acknowledged at once", oneLost + "B>A ACK psn=+3 msn=4\n", ""},
	{"refused, and sent again in part", oneLost + "A>B SEND_ONLY psn=+2 len=8\nA>B SEND_ONLY psn=+3 len=8 A\n" +
		"B>A ACK psn=+3 msn=4\n", "psn=+1 was refused and acknowledged"},
	{"not ready, and sent again in part", "A>B SEND_ONLY psn=+0 len=8\nA>B SEND_ONLY psn=+1 len=8\n" +
		"A>B SEND_ONLY psn=+2 len=8 A\nB>A RNR psn=+0 msn=0 timer=1\nA>B SEND_ONLY psn=+0 len=8\n" +
		"A>B SEND_ONLY psn=+2 len=8 A\nB>A ACK psn=+2 msn=3\n", "psn=+1 was refused and acknowledged"},
	{"not ready, and sent again but for the first", "A>B SEND_ONLY psn=+0 len=8\nA>B SEND_ONLY psn=+1 len=8\n" +
		"A>B SEND_ONLY psn=+2 len=8 A\nB>A RNR psn=+0 msn=0 timer=1\nA>B SEND_ONLY psn=+1 len=8\n" +
		"A>B SEND_ONLY psn=+2 len=8 A\nB>A ACK psn=+2 msn=3\n", "psn=+0 was refused and acknowledged"},
	{"not ready for a WRITE, which needs no receive", "A>B WRITE_ONLY psn=+0 len=8\nA>B WRITE_ONLY psn=+1 len=8\n" +
		"A>B WRITE_ONLY psn=+2 len=8 A\nB>A RNR psn=+0 msn=0 timer=1\nA>B WRITE_ONLY psn=+1 len=8\n" +
		"A>B WRITE_ONLY psn=+2 len=8 A\nB>A ACK psn=+2 msn=3\n", ""},
	{"answered with data before it passed", "A>B SEND_ONLY psn=+0 len=8 A\nB>A ACK psn=+0 msn=1\n" +
		"B>A READ_RESP_FIRST psn=+1 msn=2 len=1024\nB>A READ_RESP_LAST psn=+2 msn=2 len=8\n" +
		"@5000 A>B READ_REQUEST psn=+1 dmalen=1032 A\n", "psn=+1 was acknowledged"},
	{"answered with the next PSN", "A>B READ_REQUEST psn=+0 dmalen=8 A\nB>A READ_RESP_ONLY psn=+1 msn=1 len=8\n" +
		"A>B READ_REQUEST psn=+1 dmalen=8 A\n@5000 A>B READ_REQUEST psn=+0 dmalen=8 A\nB>A READ_RESP_ONLY psn=+0 " +
		"msn=1 len=8\nA>B READ_REQUEST psn=+1 dmalen=8 A\nB>A READ_RESP_ONLY psn=+1 msn=2 len=8\n", ""},
	{"not ready for a SEND that is not in it", "A>B SEND_ONLY psn=+0 len=8 A\nB>A ACK psn=+0 msn=1\n" +
		"B>A RNR psn=+1 msn=1 timer=1\n", "psn=+1 was acknowledged"},
	{"not ready for a SEND to come", "A>B SEND_ONLY psn=+0 len=8 A\nB>A ACK psn=+0 msn=1\n" +
		"B>A RNR psn=+1 msn=1 timer=1\nA>B SEND_ONLY psn=+1 len=8 A\n@9000 B>A RNR psn=+1 msn=1 timer=1\n", ""},
	{"data first", "B>A X_READ_RESP_LAST psn=+0 msn=1 len=8\nA>B IRN_READ_ACK psn=+1 msn=0 sack=+1\n" +
		"A>B X_READ_REQUEST psn=+0 dmalen=8 A\nB>A X_READ_RESP_ONLY psn=+1 msn=2 len=8\n" +
		"A>B IRN_READ_ACK psn=+2 msn=0 sack=+2\n", "begins when"},
	{"answers first", "B>A NAK psn=+3 msn=0 PSN_SEQ_ERR\nA>B WRITE_MIDDLE psn=+3 len=1024\n", "begins when"},
	{"a repair packet twice", "A>B SEND_ONLY psn=+0 len=8 A\n@10 A>B REPAIR bpsn=+0 isn=0 n=1 r=4 c=2 FIRST LAST\n" +
		"@11 A>B REPAIR bpsn=+0 isn=0 n=1 r=4 c=2 FIRST LAST\nB>A ACK psn=+0 msn=1\n", "psn=+0 twice within"},
	{"repair packets of one block", "A>B SEND_ONLY psn=+0 len=8\nA>B SEND_ONLY psn=+1 len=8 A\n" +
		"@10 A>B REPAIR bpsn=+0 isn=0 n=2 r=4 c=2 FIRST LAST\n@11 A>B REPAIR bpsn=+0 isn=1 n=2 r=4 c=2 FIRST LAST\n" +
		"B>A ACK psn=+1 msn=2\n", ""},
	{"a repair packet of data twice", "A>B READ_REQUEST psn=+0 dmalen=8 A\nB>A READ_RESP_ONLY psn=+0 msn=1 len=8\n" +
		"@10 B>A REPAIR bpsn=+0 isn=0 n=1 r=4 c=2 FIRST LAST K\n@11 B>A REPAIR bpsn=+0 isn=0 n=1 r=4 c=2 FIRST LAST K\n",
		"psn=+0 twice within"},
	{"one way", "A>B SEND_ONLY psn=+0 len=8 A\nA>B SEND_ONLY psn=+1 len=8 A\n", "the frames of one end alone"},
	{"guessed", "qp A conn=1\nA>B SEND_ONLY psn=+0 len=8 A\nA>B SEND_ONLY psn=+0 len=8 A conn=1\nB>A ACK psn=+0 " +
		"msn=1\nB>A ACK psn=+0 msn=1 conn=1\n",
		"several flows fit"},
}

// TestDoubts: captures whose frames show what they lack, and captures of losses and errors that lack nothing.
func TestDoubts(t *testing.T) {
	for _, c := range doubted {
		f := tracetest.Parse(t, c.text, 0)
		path := filepath.Join(t.TempDir(), "x.pcap")
		tracetest.WritePcap(t, path, 65535, tracetest.FramesAt(f, trace.B))
		r, err := Read(path, Stated{Tap: Tap{place: atResponder}})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Header.Conns[0].Doubtful(trace.A).Why; (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestPeerByOneAnswer: flows of which one answers the other with data that were not asked for may not belong together,
// though no other flow fits.
func TestPeerByOneAnswer(t *testing.T) {
	for text, guessed := range map[string]bool{
		"A>B WRITE_ONLY psn=+0 len=8 A\nB>A READ_RESP_ONLY psn=+0 msn=1 len=8\n":      true,
		"A>B READ_REQUEST psn=+0 dmalen=8 A\nB>A READ_RESP_ONLY psn=+0 msn=1 len=8\n": false,
		"A>B WRITE_ONLY psn=+0 len=8 A\nB>A ACK psn=+0 msn=1\nA>B WRITE_ONLY psn=+1 len=8 A\n" +
			"B>A READ_RESP_ONLY psn=+1 msn=2 len=8\n": false,
	} {
		f := tracetest.Parse(t, text, 0)
		r, _ := filed(t, tracetest.FramesAt(f, trace.B))
		if got := r.Header.Conns[0].Doubts[trace.A] == evidence.GuessedPeer; got != guessed {
			t.Errorf("%q: guessed %v, want %v", text, got, guessed)
		}
	}
}

// TestDoubtsOfTwoTaps: frames missing at one tap show at the other; a frame that neither tap has was not sent.
func TestDoubtsOfTwoTaps(t *testing.T) {
	const text, begun = "A>X SEND_ONLY psn=+0 len=8 A\nA>B SEND_ONLY psn=+1 len=8 A\n", "A>B SEND_ONLY psn=+0 len=8 A\n"
	for _, c := range []struct{ name, text, want string }{
		{"lost, and asked for", text + "B>A NAK psn=+0 msn=0 PSN_SEQ_ERR\nA>B SEND_ONLY psn=+0 len=8 " +
			"A\nB>A ACK psn=+1 msn=2\n", ""},
		{"acknowledged", text + "B>A ACK psn=+1 msn=2\n",
			"one tap began later than the other: psn=-1 was acknowledged"},
		{"acknowledged alone", text + "B>A ACK psn=+0 msn=1\n",
			"one tap began later than the other: psn=-1 was acknowledged"},
		{"sent by nobody", begun + "A>B SEND_ONLY psn=+1 len=8 A\nB>A ACK psn=+1 msn=2\nA>B SEND_ONLY psn=+3 len=8 " +
			"A\nB>A ACK psn=+3 msn=4\n", ""},
		{"before the captures, perhaps", begun + "A>B SEND_ONLY psn=+2 len=8 A\nB>A ACK psn=+2 msn=3\n",
			"psn=+1 was acknowledged"},
		{"acknowledged before it need be sent again",
			begun + "B>A ACK psn=+2 msn=3\nA>B SEND_ONLY psn=+3 len=8 A\nB>A ACK psn=+3 msn=4\n",
			"psn=+1 was acknowledged"},
		{"skipped at the beginning",
			begun + "A>B SEND_ONLY psn=+2 len=8 A\n@1000 B>A SEND_ONLY psn=+0 len=8 A\n", "begins when"},
	} {
		f := tracetest.Parse(t, c.text, 0)
		dir := t.TempDir()
		for i, tap := range []trace.Side{trace.A, trace.B} {
			tracetest.WritePcap(t, filepath.Join(dir, tap.String()+".pcap"), 65535,
				tracetest.FramesAt(f, trace.Side(i)))
		}
		r, err := Read(dir, Stated{})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Header.Conns[0].Doubtful(trace.A).Why; (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q (taps %v)", c.name, got, c.want, r.Header.Taps)
		}
	}
}

// Nothing passed before the first request of all, so that what both taps lack was not sent.
func TestBothTapsHaveTheBeginning(t *testing.T) {
	f := tracetest.Parse(t, "A>B SEND_ONLY psn=+0 len=8 A\nB>A ACK psn=+0 msn=1\nA>B SEND_ONLY psn=+1 len=8 A\n"+
		"B>A ACK psn=+2 msn=3\n", 0)
	var parts []Part
	for _, tap := range []trace.Side{trace.A, trace.B} {
		path := filepath.Join(t.TempDir(), tap.String()+".pcap")
		tracetest.WritePcap(t, path, 65535, tracetest.FramesAt(f, tap))
		parts = append(parts, Part{Name: path})
	}
	start := f.Header.Conns[0].Ends[trace.A].QP.SendPSN
	for first, want := range map[psn.PSN]string{start: "", start.Prev(): "psn=+2 was acknowledged"} {
		r, err := ReadAll(parts, Stated{QP: func(_ netip.Addr, q *engine.QP, _ map[string]string) (bool, error) {
			q.SendPSN = first
			return true, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Header.Conns[0].Doubtful(trace.A).Why; (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("start %d: %q, want %q", first, got, want)
		}
	}
}

// Two captures begin in the middle if the tap of the requester shows it, whatever was lost behind that tap. If only the
// other one shows it, requests were lost before it, or it began later.
func TestTwoTapsBeginInTheMiddle(t *testing.T) {
	const sentBack = `
@0..100 A>X SEND_ONLY psn=+5 len=8 A
@1000..1100 A>B SEND_ONLY psn=+4 len=8 A
@1102..1202 B>A ACK psn=+4 msn=1
@1203..1303 A>B SEND_ONLY psn=+5 len=8 A
@1405..1505 B>A ACK psn=+5 msn=2
`
	const again = `
@11..111 A>B SEND_ONLY psn=+1 len=8 A
@22..122 A>B SEND_ONLY psn=+0 len=8 A
@233..333 B>A ACK psn=+0 msn=1
@244..344 B>A ACK psn=+1 msn=2
@255..355 B>A ACK psn=+1 msn=2
`
	const expired = `
@0..100 A>X SEND_ONLY psn=+0 len=8 A
@9000..9100 A>B SEND_ONLY psn=+0 len=8 A
@9102..9202 B>A ACK psn=+0 msn=1
@9203..9303 A>B SEND_ONLY psn=+1 len=8 A
@9405..9505 B>A ACK psn=+1 msn=2
`
	const first, lost = "@0..100 A>B SEND_ONLY psn=+0 len=8 A", "@0..100 A>X SEND_ONLY psn=+0 len=8 A"
	const other = "@0..100 B>A SEND_ONLY psn=+0 len=8 A\n"
	for name, c := range map[string]struct {
		text   string
		missed int // first frames that the tap of B has not
		want   string
		at     [2]bool
	}{
		"sent back":         {sentBack, 0, "begins when", [2]bool{true, false}},
		"a timer expires":   {expired, 0, "begins when", [2]bool{true, false}},
		"complete":          {first + again, 0, "", [2]bool{}},
		"B begins later":    {first + again, 1, "begins when", [2]bool{false, true}},
		"B may begin later": {lost + again, 0, "begins when", [2]bool{false, true}},
		"B had begun":       {other + "@1..101 A>X SEND_ONLY psn=+0 len=8 A" + again, 0, "", [2]bool{}},
	} {
		f := tracetest.Parse(t, c.text, 0)
		r, _ := filed(t, tracetest.FramesAt(f, trace.A), tracetest.FramesAt(f, trace.B)[c.missed:])
		d := r.Header.Conns[0].Doubtful(trace.A)
		if (d.Why == "") != (c.want == "") || !strings.Contains(d.Why, c.want) || d.At != c.at {
			t.Errorf("%s: %+v, want %q (%+v)", name, d, c.want, r.Capture)
		}
	}
}

// A tap that begins with an answer began later than one that has the request, also where READs of an unknown MTU
// follow.
func TestSecondTapBeginsWithAnAnswer(t *testing.T) {
	f := tracetest.Parse(t, `
@0..100 A>B FETCH_ADD psn=+0
@1..101 A>B FETCH_ADD psn=+1
@102..202 B>A ATOMIC_ACK psn=+0 msn=1
@103..203 B>A ATOMIC_ACK psn=+1 msn=2
@204..304 A>B READ_REQUEST psn=+2 dmalen=300
@205..305 A>B FETCH_ADD psn=+3
@306..406 B>A READ_RESP_ONLY psn=+2 len=300 msn=3
@307..407 B>A ATOMIC_ACK psn=+3 msn=4
`, 0)
	a, b := tracetest.FramesAt(f, trace.A), tracetest.FramesAt(f, trace.B)
	r, _ := filed(t, later(a, 0, func(i int) bool { return a[i].Raw[29] == a[0].Raw[29] }), b[2:])
	if got := r.Header.Conns[0].Doubtful(trace.A).Why; !strings.Contains(got, "one tap began later") {
		t.Errorf("%q (%+v)", got, r.Capture)
	}
}

// An answer may be to a request before the capture, of a flow that begins shortly after it, though only another flow is
// seen to have sent a request with its PSN.
func TestPeerOfAnEarlierRequest(t *testing.T) {
	f := tracetest.Parse(t, "qp A conn=1\nA>B SEND_ONLY psn=+5 len=8 A\nA>B SEND_ONLY psn=+5 len=8 A conn=1\n"+
		"A>B SEND_ONLY psn=+6 len=8 A\nA>B SEND_ONLY psn=+6 len=8 A conn=1\nB>A ACK psn=+5 msn=1\n"+
		"B>A ACK psn=+5 msn=1 conn=1\n", 0)
	r, _ := filed(t, tracetest.FramesAt(f, trace.B)[1:])
	for i := range r.Header.Conns {
		if r.Header.Conns[i].Doubts[trace.A] != evidence.GuessedPeer {
			t.Errorf("connection %d: %+v", i, r.Header.Conns[i])
		}
	}
}

// Two taps may both have the frames of one end alone.
func TestTwoTapsOfOneDirection(t *testing.T) {
	f := tracetest.Parse(t, goBackRun(3, 10, true), 0)
	a, b := tracetest.FramesAt(f, trace.A), tracetest.FramesAt(f, trace.B)
	from := a[0].Raw[29]
	r, _ := filed(t, later(a, 0, func(i int) bool { return a[i].Raw[29] == from }),
		later(b, 0, func(i int) bool { return b[i].Raw[29] == from }))
	if got := r.Header.Conns[0].Doubtful(trace.A).Why; !strings.Contains(got, "one end alone") {
		t.Errorf("%q (%+v)", got, r.Capture)
	}
}

// A NAK without a gap makes the requester's tap look incomplete: what is sent again in vain is acknowledged before it
// has left. The responder's tap, which has seen that nothing was missing, is not doubted for that, unless frames are
// known to be missing somewhere.
func TestDoubtOfOneTap(t *testing.T) {
	const text = `
@0..100 A>B SEND_ONLY psn=+0 len=8
@1..101 A>B SEND_ONLY psn=+1 len=8
@102..202 B>A NAK psn=+2 msn=2 PSN_SEQ_ERR
@103..203 A>B SEND_ONLY psn=+2 len=8
@104..204 A>B SEND_ONLY psn=+3 len=8 A
@203..303 A>B SEND_ONLY psn=+2 len=8
@205..305 B>A ACK psn=+3 msn=4
@306..406 A>B SEND_ONLY psn=+3 len=8 A
@407..507 B>A ACK psn=+3 msn=4
`
	for lost, at := range map[int][2]bool{-1: {true, false}, 0: {true, false}, 1: {}} {
		var parts []Part
		for _, tap := range []trace.Side{trace.A, trace.B} {
			in := countedAt(t, text, tap, lost)
			parts = append(parts, Part{Name: tap.String() + ".pcapng", Copy: in, Size: in.Size()})
		}
		r, err := ReadAll(parts, Stated{})
		if err != nil {
			t.Fatal(err)
		}
		d := r.Header.Conns[0].Doubtful(trace.A)
		if !strings.Contains(d.Why, "psn=+3 was refused and acknowledged") || d.At != at {
			t.Errorf("%d lost: %+v (%+v)", lost, d, r.Capture)
		}
	}
}

// An atomic that is sent again just when its answer comes needs no second answer: that this is lost behind the
// responder's tap is no sign of a packet that the requester's lacks. Neither tap may lack the only answer.
func TestAnswerLostOnTheWay(t *testing.T) {
	const begin = "@0..100 A>B SEND_ONLY psn=+0 len=8 A\n@102..202 B>A ACK psn=+0 msn=1\n@203..303 A>B FETCH_ADD psn=+1\n"
	const end = "@409..509 A>B SEND_ONLY psn=+2 len=8 A\n@511..611 B>A ACK psn=+2 msn=3\n"
	for text, want := range map[string]string{
		begin + "@305..405 B>A ATOMIC_ACK psn=+1 msn=2\n@406..506 A>B FETCH_ADD psn=+1\n" +
			"@508 B>X ATOMIC_ACK psn=+1 msn=2\n" + end: "",
		begin + "@305 B>X ATOMIC_ACK psn=+1 msn=2\n" + end: "psn=+1 was asked for",
	} {
		f := tracetest.Parse(t, text, 0)
		r, _ := filed(t, tracetest.FramesAt(f, trace.A), tracetest.FramesAt(f, trace.B))
		if got := r.Header.Conns[0].Doubtful(trace.A).Why; (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// A packet that neither tap has was not sent, unless one of them is known to lack packets.
func TestNeitherTapHasIt(t *testing.T) {
	f := tracetest.Parse(t, `
@0..100 A>B SEND_ONLY psn=+0 len=8
@1..101 A>B SEND_ONLY psn=+1 len=8
@2..102 A>B SEND_ONLY psn=+2 len=8
@3..103 A>B SEND_ONLY psn=+4 len=8 A
@105..205 B>A ACK psn=+4 msn=5
`, 0)
	a, b := tracetest.FramesAt(f, trace.A), tracetest.FramesAt(f, trace.B)
	for name, c := range map[string]struct {
		b  []capture.Frame
		at [2]bool
	}{
		"complete":      {b, [2]bool{}},
		"B lacks psn=1": {later(b, 0, func(i int) bool { return i != 1 }), [2]bool{true, true}},
	} {
		r, _ := filed(t, a, c.b)
		if d := r.Header.Conns[0].Doubtful(trace.A); d.At != c.at {
			t.Errorf("%s: %+v, want it of %v", name, d, c.at)
		}
	}
}

// The doubt about what preceded a capture ends when a request that it has is granted, after the last sign of earlier
// ones.
func TestDoubtOfTheBeginningEnds(t *testing.T) {
	const begun = "@0..100 A>B SEND_ONLY psn=+5 len=8\n@102..202 B>A NAK psn=+3 msn=3 PSN_SEQ_ERR\n" +
		"@203..303 A>B SEND_ONLY psn=+3 len=8\n@204..304 A>B SEND_ONLY psn=+4 len=8 A\n"
	for name, c := range map[string]struct {
		text  string
		until vtime.Time
	}{
		"never": {"@306..406 B>A ACK psn=+4 msn=5\n", 0},
		"granted": {"@306..406 B>A ACK psn=+4 msn=5\n@407..507 A>B SEND_ONLY psn=+5 len=8 A\n" +
			"@509..609 B>A ACK psn=+5 msn=6\n", 609},
		"once again": {"@205..305 A>B SEND_ONLY psn=+5 len=8 A\n@307..407 B>A ACK psn=+5 msn=6\n" +
			"@408..508 A>B SEND_ONLY psn=+4 len=8 A\n@510..610 B>A ACK psn=+5 msn=6\n", 610},
	} {
		f := tracetest.Parse(t, begun+c.text, 0)
		r, _ := filed(t, tracetest.FramesAt(f, trace.A))
		d := r.Header.Conns[0].Doubtful(trace.A)
		if !strings.Contains(d.Why, "begins when") || d.Until != c.until*vtime.Time(vtime.Microsecond) {
			t.Errorf("%s: %+v, want it to end after %d us", name, d, c.until)
		}
	}
}

// A packet that both taps have twice at once was sent twice, also where one of them lacks another packet.
func TestBothTapsHaveItTwice(t *testing.T) {
	f := tracetest.Parse(t, `
@0..100 A>B SEND_ONLY psn=+0 len=8
@1..101 A>B SEND_ONLY psn=+1 len=8 A
@103..203 B>A ACK psn=+1 msn=2
@104..204 B>A ACK psn=+1 msn=2
@305..405 A>B SEND_ONLY psn=+2 len=8 A
@407..507 B>A ACK psn=+2 msn=3
@510..610 A>B SEND_ONLY psn=+3 len=8 A
@612..712 B>A ACK psn=+3 msn=4
`, 0)
	a, b := tracetest.FramesAt(f, trace.A), tracetest.FramesAt(f, trace.B)
	r, _ := filed(t, later(a, 0, func(i int) bool { return i != 4 }), b)
	d := r.Header.Conns[0].Doubtful(trace.A)
	if !strings.Contains(d.Why, "psn=+2 was acknowledged") || d.At != [2]bool{true, false} {
		t.Errorf("%+v (%+v)", d, r.Capture)
	}
}
