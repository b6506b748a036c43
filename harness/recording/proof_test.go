package recording

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/recording/evidence"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/tracetest"
)

// QPs that start with the same PSN are paired beyond doubt where the answers of one came before the requests of the
// other, several times. Where each flow fits both, the pairing is a guess, and no MTU holds for both of its directions.
func TestQPsOfEqualPSNs(t *testing.T) {
	turns := func(rounds int, apart bool) string {
		var b strings.Builder
		fmt.Fprintf(&b, "qp mtu=256 start=7\nqp conn=1 mtu=1024 start=7\n")
		at := 0
		ask := func(conn, psn int) {
			fmt.Fprintf(&b, "@%d..%d A>B WRITE_ONLY psn=+%d len=%d A conn=%d\n", at, at+5, psn, 200+600*conn, conn)
			at += 10
		}
		answer := func(conn, psn int) {
			fmt.Fprintf(&b, "@%d..%d B>A ACK psn=+%d msn=%d conn=%d\n", at, at+5, psn, psn+1, conn)
			at += 10
		}
		for i := range rounds {
			if ask(0, i); apart { // connection 0 is always ahead
				answer(0, i)
				ask(1, i)
				answer(1, i)
				continue
			}
			ask(1, i)
			answer(1, i)
			answer(0, i)
		}
		return b.String() + fmt.Sprintf("@%d..%d A>B WRITE_FIRST psn=+%d len=1024 conn=1\n@%d..%d A>B WRITE_FIRST "+
			"psn=+%d len=256\n", at, at+5, rounds, at+10, at+15, rounds)
	}
	for name, c := range map[string]struct {
		text   string
		guess  bool
		mtus   [2]int
		rightA bool
	}{
		"apart":       {turns(20, true), false, [2]int{256, 1024}, true},
		"apart twice": {turns(2, true), true, [2]int{256, 1024}, true},
		"abreast":     {turns(20, false), true, [2]int{256, 1024}, false},
	} {
		f := tracetest.Parse(t, c.text, 0)
		r, _ := filed(t, tracetest.FramesAt(f, trace.A))
		for i := range r.Header.Conns {
			conn := &r.Header.Conns[i]
			if got := conn.Doubts[trace.A] == evidence.GuessedPeer; got != c.guess {
				t.Errorf("%s: connection %d: guessed %v, want %v", name, i, got, c.guess)
			}
			right := conn.Ends[0].QP.QPN == f.Header.Conns[i].Ends[0].QP.QPN
			if mtu := conn.Ends[0].QP.MTU; c.rightA && (mtu != c.mtus[i] || !right) {
				t.Errorf("%s: connection %d: MTU %d, paired right %v", name, i, mtu, right)
			}
		}
	}
}

// The MTU of a connection is unknown where the flows that a guess puts together differ in it.
func TestGuessOfTwoMTUs(t *testing.T) {
	f := tracetest.Parse(t, `qp mtu=256 start=7
qp conn=1 mtu=1024 start=7
@1..5 A>B WRITE_FIRST psn=+0 len=256
@2..6 A>B WRITE_FIRST psn=+0 len=1024 conn=1
@3..7 B>A WRITE_FIRST psn=+0 len=256
@4..8 B>A WRITE_FIRST psn=+0 len=1024 conn=1
@9..15 B>A ACK psn=+0 msn=0 conn=1
@10..16 B>A ACK psn=+0 msn=0
`, 0)
	r, _ := filed(t, tracetest.FramesAt(f, trace.A))
	for i := range r.Header.Conns {
		c := &r.Header.Conns[i]
		if c.Doubts[0] != evidence.GuessedPeer {
			t.Errorf("connection %d: no guess", i)
		}
		if mtu := c.Ends[0].QP.MTU; mtu != 0 || !c.Anew {
			t.Errorf("connection %d: MTU %d, anew %v; they are put together wrong", i, mtu, c.Anew)
		}
	}
}

// A QPN that is used again by atomics alone shows in the MSN of the answers to a PSN that leapt; one whose UDP source
// port changed where the PSNs do not go on may be of another connection, and one whose PSNs go on is not.
func TestReuseOfQPNs(t *testing.T) {
	const atomics = "@1..9 A>B FETCH_ADD psn=+4\n@2..10 A>B FETCH_ADD psn=+5\n@11..19 B>A ATOMIC_ACK psn=+4 msn=8\n" +
		"@12..20 B>A ATOMIC_ACK psn=+5 msn=9\n@30..39 A>B FETCH_ADD psn=+70000\n@40..49 B>A ATOMIC_ACK psn=+70000 msn="
	for name, c := range map[string]struct {
		text string
		port uint16 // of the requests from the third frame on; 0 for no change
		want bool
	}{
		"MSN begins again": {atomics + "1\n", 0, true},
		"MSN goes on":      {atomics + "10\n", 0, false},
		"another port at a leap": {"@1..9 A>B SEND_ONLY psn=+4 len=1 A\n@10..19 B>A ACK psn=+4 msn=1\n" +
			"@30..39 A>B SEND_ONLY psn=+4 len=1 A\n@40..49 B>A ACK psn=+4 msn=1\n", 50001, true},
		"another port within": {"@1..9 A>B SEND_ONLY psn=+4 len=1 A\n@10..19 B>A ACK psn=+4 msn=1\n" +
			"@30..39 A>B SEND_ONLY psn=+5 len=1 A\n@40..49 B>A ACK psn=+5 msn=2\n", 50001, false},
	} {
		list := tracetest.FramesAt(tracetest.Parse(t, c.text, 0), trace.A)
		for i := 2; i < len(list) && c.port != 0; i++ {
			var h roce.Frame
			if err := h.Decode(list[i].Raw); err != nil {
				t.Fatal(err)
			}
			if h.Packet.Opcode.IsRequest() {
				h.SrcPort = c.port
				list[i].Raw = h.AppendTo(nil)
			}
		}
		r, _ := filed(t, list)
		if got := r.Header.Conns[0].Anew; got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// An answer to another QP number that fits a flow is of another connection where that has a flow of requests which
// nothing else answers.
func TestAnswerOfAnotherConnectionIsNotStray(t *testing.T) {
	var text strings.Builder
	text.WriteString("qp start=7\nqp conn=1 start=7\n")
	for i := range 6 {
		fmt.Fprintf(&text, "@%d..%d A>B SEND_ONLY psn=+%d len=1 A\n", 20*i, 20*i+5, i)
		if i < 5 {
			fmt.Fprintf(&text, "@%d..%d B>A ACK psn=+%d msn=%d\n", 20*i+10, 20*i+15, i, i+1)
		}
	}
	text.WriteString("@110..115 B>A ACK psn=+5 msn=6 qp=0x99\n@120..125 B>A ACK psn=+5 msn=6\n")
	for _, other := range []string{"", "@130..135 A>B SEND_ONLY psn=+60 len=1 A conn=1\n"} {
		r, _ := filed(t, tracetest.FramesAt(tracetest.Parse(t, text.String()+other, 0), trace.A))
		stray := len(r.Header.Conns[0].Ends[trace.A].Misaddressed) > 0
		if want := other == ""; stray != want {
			t.Errorf("requests of another connection %q: stray %v, want %v", other, stray, want)
		}
	}
}

// QPs of equal PSNs that run abreast are abreast at the port of the requester alone: that of the responder shows which
// answer is for which request, also when the file of the other port is there, and also when its clock is wrong.
func TestQPsOfEqualPSNsAtTwoTaps(t *testing.T) {
	var text strings.Builder
	fmt.Fprintf(&text, "qp start=7\nqp conn=1 start=7\n")
	for i := range 8 {
		for conn := range 2 {
			asked := 1000*i + 10*conn
			fmt.Fprintf(&text, "@%d..%d A>B WRITE_ONLY psn=+%d len=8 A conn=%d\n@%d..%d B>A ACK psn=+%d msn=%d conn=%d\n",
				asked, asked+100, i, conn, asked+102, asked+202, i, i+1, conn)
		}
	}
	f := tracetest.Parse(t, text.String(), 0)
	a, b := tracetest.FramesAt(f, trace.A), tracetest.FramesAt(f, trace.B)
	for name, c := range map[string]struct {
		files [][]capture.Frame
		guess bool
	}{
		"requester":  {[][]capture.Frame{a}, true},
		"responder":  {[][]capture.Frame{b}, false},
		"both":       {[][]capture.Frame{a, b}, false},
		"both, late": {[][]capture.Frame{a, later(b, 300*time.Microsecond, nil)}, false},
	} {
		r, _ := filed(t, c.files...)
		for i := range r.Header.Conns {
			conn := &r.Header.Conns[i]
			if got := conn.Doubts[trace.A] == evidence.GuessedPeer; got != c.guess {
				t.Errorf("%s: connection %d: guessed %v, want %v", name, i, got, c.guess)
			}
			if right := conn.Ends[0].QP.QPN == f.Header.Conns[i].Ends[0].QP.QPN; !c.guess && !right {
				t.Errorf("%s: connection %d is paired wrong", name, i)
			}
		}
	}
}

// The answers to a flow without a peer may be in a flow whose QPN was used again.
func TestPeerInAFlowOfSeveralConnections(t *testing.T) {
	const first = "@1..9 A>B SEND_ONLY psn=+4 len=1 A\n@10..19 B>A ACK psn=+4 msn=5\n"
	const second = "@30..39 A>B READ_REQUEST psn=+9 dmalen=8 qp=0x99\n@40..49 B>A READ_RESP_ONLY psn=+900 len=8 msn=1\n"
	for port, want := range map[uint16]bool{0: false, 50001: true} {
		r, _ := filed(t, ported(t, first+second, map[int]uint16{3: port}))
		if got := r.Header.Conns[1].Doubts[0] == evidence.GuessedPeer; got != want {
			t.Errorf("answers from port %d: a guess %v, want %v", port, got, want)
		}
	}
}
