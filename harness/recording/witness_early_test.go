package recording

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/tracetest"
)

// TestDoubtsOfEarly: captures of responders that keep what is early, at the port of the requester. Each early arrival
// draws a selective acknowledgement, also while the missing request is on its way again; the others are not sent again.
func TestDoubtsOfEarly(t *testing.T) {
	const (
		sent = "@0 A>B X_WRITE_ONLY psn=+0 len=8 A\n@100 A>X X_WRITE_ONLY psn=+1 len=8 A\n" +
			"@200 A>B X_WRITE_ONLY psn=+2 len=8 A\n@300 A>X X_WRITE_ONLY psn=+3 len=8 A\n" +
			"@400 A>B X_WRITE_ONLY psn=+4 len=8 A\n@9000 B>A ACK psn=+0 msn=1\n" +
			"@9100 B>A IRN_NACK psn=+1 msn=1 sack=+2 PSN_SEQ_ERR\n"
		named  = "@9300 B>A IRN_NACK psn=+1 msn=1 sack=+4 PSN_SEQ_ERR\n"
		first  = "@9200 A>B X_WRITE_ONLY psn=+1 len=8 A\n"
		second = "@9400 A>B X_WRITE_ONLY psn=+3 len=8 A\n"
		filled = "@19000 B>A ACK psn=+2 msn=3\n@19100 B>A ACK psn=+4 msn=5\n"
		read   = "A>B X_READ_REQUEST psn=+0 dmalen=1032 sn=0 A\nB>A ACK psn=+0 msn=1\n" +
			"B>A X_READ_RESP_FIRST psn=+0 msn=1 sn=0 len=1024\nB>A X_READ_RESP_LAST psn=+1 msn=1 sn=0 off=1024 len=8\n"
	)
	for _, c := range []struct{ name, text, want string }{
		{"named again while it is on its way", sent + first + named + second + filled, ""},
		{"missed when it was sent again", sent + named + second + filled, "psn=+1 was refused and acknowledged"},
		{"a later hole missed when it was sent again", sent + first + named + "@19000 B>A ACK psn=+2 msn=3\n" +
			"@19100 B>A IRN_NACK psn=+3 msn=3 sack=+4 PSN_SEQ_ERR\n@19200 A>B X_WRITE_ONLY psn=+2 len=8 A\n" +
			"@29000 B>A ACK psn=+4 msn=5\n", "psn=+3 was refused and acknowledged"},
		{"not ready, and what follows kept", "@0 A>B X_SEND_ONLY psn=+0 len=8 sn=0\n@100 A>B X_WRITE_ONLY psn=+1 len=8\n" +
			"@200 A>B X_SEND_ONLY psn=+2 len=8 sn=1 A\n@9000 B>A RNR psn=+0 msn=0 timer=1\n" +
			"@30000 A>B X_SEND_ONLY psn=+0 len=8 sn=0\n@39000 B>A ACK psn=+2 msn=3\n", ""},
		{"the ACK of a run, and those of duplicates", "@0 A>X X_WRITE_ONLY psn=+0 len=8 A\n" +
			"@1 A>B X_WRITE_ONLY psn=+1 len=8 A\n@2 A>B X_WRITE_ONLY psn=+2 len=8 A\n" +
			"@9000 A>B X_WRITE_ONLY psn=+0 len=8 A\n@9100 A>B X_WRITE_ONLY psn=+1 len=8 A\n" +
			"@19000 B>A ACK psn=+2 msn=3\nB>A ACK psn=+2 msn=3\n", ""},
		{"the ACK of a duplicate twice", "@0 A>B X_WRITE_ONLY psn=+0 len=8 A\n@9000 B>A ACK psn=+0 msn=1\n" +
			"@19000 A>B X_WRITE_ONLY psn=+0 len=8 A\n@29000 B>A ACK psn=+0 msn=1\nB>A ACK psn=+0 msn=1\n" +
			"@30000 A>B X_WRITE_ONLY psn=+1 len=8 A\n@39000 B>A ACK psn=+1 msn=2\n", "psn=+0 twice"},
		{"the ACK of a run twice", sent + first + named + second + "B>A ACK psn=+4 msn=5\n" +
			"B>A ACK psn=+4 msn=5\nB>A ACK psn=+4 msn=5\nB>A ACK psn=+4 msn=5\n", "psn=+4 twice"},
		{"a READ whose responses are numbered apart", read + "A>B IRN_READ_ACK psn=+1 msn=0 sack=+1\n" +
			"A>B IRN_READ_ACK psn=+2 msn=0 sack=+2\n", ""},
		{"the acknowledgement of a READ response twice", read + "A>B IRN_READ_ACK psn=+1 msn=0 sack=+1\n" +
			"A>B IRN_READ_ACK psn=+2 msn=0 sack=+2\nA>B IRN_READ_ACK psn=+2 msn=0 sack=+2\n", "psn=+2 twice"},
		{"a response missed", read + "A>B IRN_READ_ACK psn=+3 msn=0 sack=+3\n", "psn=+2 was acknowledged"},
		{"a READ that is acknowledged before its lost answer comes", "@0 A>B X_READ_REQUEST psn=+0 dmalen=8 sn=0 A\n" +
			"@1 A>B X_WRITE_ONLY psn=+1 len=8 A\n@9000 B>A ACK psn=+0 msn=1\n@9001 B>A ACK psn=+1 msn=2\n" +
			"@9002 B>X X_READ_RESP_ONLY psn=+0 msn=1 sn=0 len=8\n@19000 B>A X_READ_RESP_ONLY psn=+0 msn=2 sn=0 len=8\n" +
			"@19001 A>B IRN_READ_ACK psn=+1 msn=0 sack=+1\n", ""},
		{"data of a READ from before the capture", "A>B READ_REQUEST psn=+9 dmalen=2048 A\n" +
			"B>A READ_RESP_FIRST psn=+8 len=1024 msn=1\nB>A READ_RESP_MIDDLE psn=+9 len=1024\n" +
			"B>A READ_RESP_LAST psn=+10 len=1024 msn=1\n", "earlier requests were still to be answered"},
	} {
		path := filepath.Join(t.TempDir(), "x.pcap")
		tracetest.WritePcap(t, path, 65535, tracetest.FramesAt(tracetest.Parse(t, c.text, 0), trace.A))
		r, err := Read(path, Stated{Tap: Tap{place: atRequester}})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Header.Conns[0].Doubtful(trace.A).Why; (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestBegunAfterEarly: the capture at the port of a responder that keeps what is early began after one at the port of
// the requester, when early requests had arrived there. Their answers name them.
func TestBegunAfterEarly(t *testing.T) {
	const text = "@0 A>X SEND_ONLY psn=+0 len=8 A\n@1 A>B SEND_ONLY psn=+1 len=8 A\n" +
		"@2 A>B SEND_ONLY psn=+2 len=8 A\n@9000 B>A RACK psn=+0 msn=0 sack=+1 PSN_SEQ_ERR\n" +
		"@9001 B>A RACK psn=+0 msn=0 sack=+2 PSN_SEQ_ERR\n@18000 A>B SEND_ONLY psn=+0 len=8 A\n" +
		"@27000 B>A ACK psn=+2 msn=3\n"
	for cut, want := range []string{"", "earlier requests were still to be answered"} {
		dir := t.TempDir()
		f := tracetest.Parse(t, text, 0)
		tracetest.WritePcap(t, filepath.Join(dir, "A.pcap"), 65535, tracetest.FramesAt(f, trace.A))
		tracetest.WritePcap(t, filepath.Join(dir, "B.pcap"), 65535, tracetest.FramesAt(f, trace.B)[cut:])
		r, err := Read(dir, Stated{})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Header.Conns[0].Doubtful(trace.A).Why; (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("without %d frames: %q, want %q", cut, got, want)
		}
	}
}

// TestPlaceOfEarly: the port of a requester is not taken for that of the responder. After an RNR NAK of a responder
// that keeps what is early, each later request draws a NAK of the same PSN; and a requester may wait for READ data long
// after the READs were acknowledged.
func TestPlaceOfEarly(t *testing.T) {
	refused, reads := &strings.Builder{}, &strings.Builder{}
	at := 0.
	step := func(to *strings.Builder, by float64, format string, args ...any) {
		at += by
		fmt.Fprintf(to, "@%.1f..%.1f "+format+"\n", append([]any{at, at + 50}, args...)...)
	}
	for n := 0; n < 70; n += 7 {
		for i := range 6 {
			step(refused, 1, "A>B SEND_ONLY psn=+%d len=8 A", n+i)
		}
		step(refused, 51, "B>A RNR psn=+%d msn=%d timer=1", n, n)
		for i := range 5 {
			step(refused, 1, "B>A RACK psn=+%d msn=%d sack=+%d PSN_SEQ_ERR", n, n, n+1+i)
		}
		step(refused, 900, "A>B SEND_ONLY psn=+%d len=8 A", n)
		step(refused, 101, "B>A ACK psn=+%d msn=%d", n+5, n+6)
		step(refused, 1, "A>B SEND_ONLY psn=+%d len=8 A", n+6)
		step(refused, 101, "B>A ACK psn=+%d msn=%d", n+6, n+7)
	}
	at = 0
	for n := range 20 {
		step(reads, 1, "A>B X_READ_REQUEST psn=+%d dmalen=8 sn=%d A", n, n)
		step(reads, 101, "B>A ACK psn=+%d msn=%d", n, n+1)
		step(reads, 2000, "B>A X_READ_RESP_ONLY psn=+%d msn=%d sn=%d len=8", n, n+1, n)
		step(reads, 1, "A>B IRN_READ_ACK psn=+%d msn=0 sack=+%d", n+1, n+1)
	}
	for name, text := range map[string]string{"refused": refused.String(), "READs": reads.String()} {
		path := filepath.Join(t.TempDir(), "x.pcap")
		tracetest.WritePcap(t, path, 65535, tracetest.FramesAt(tracetest.Parse(t, text, 0), trace.A))
		r, err := Read(path, Stated{})
		if err != nil {
			t.Fatal(err)
		}
		if r.Capture.Tap == "responder" {
			t.Errorf("%s: %+v", name, r.Capture)
		}
	}
}

// A requester that sends single requests again leaves out those that the responder keeps, and its timer may send them
// again later: they were not lost before its tap.
func TestKeptRequestIsSentAgain(t *testing.T) {
	f := tracetest.Parse(t, `
@0..5 A>B SEND_ONLY psn=+0 len=8 A
@6..11 B>A ACK psn=+0 msn=1
@10 A>X SEND_ONLY psn=+1 len=8 A
@11..16 A>B SEND_ONLY psn=+2 len=8 A
@12 A>X SEND_ONLY psn=+3 len=8 A
@13..18 A>B SEND_ONLY psn=+4 len=8 A
@17..22 B>A RACK psn=+1 msn=1 sack=+2 PSN_SEQ_ERR
@19..24 B>A RACK psn=+1 msn=1 sack=+4 PSN_SEQ_ERR
@25 A>X SEND_ONLY psn=+1 len=8 A
@26 A>X SEND_ONLY psn=+3 len=8 A
@80000..80005 A>B SEND_ONLY psn=+1 len=8 A
@80001..80006 A>B SEND_ONLY psn=+2 len=8 A
@80002..80007 A>B SEND_ONLY psn=+3 len=8 A
@80003..80008 A>B SEND_ONLY psn=+4 len=8 A
@80009..80014 B>A ACK psn=+4 msn=5
`, 0)
	a, b := tracetest.FramesAt(f, trace.A), tracetest.FramesAt(f, trace.B)
	for want, lists := range map[string][][]capture.Frame{"requester": {a}, "both ports": {a, b}} {
		if r, _ := filed(t, lists...); r.Capture.Tap != want {
			t.Errorf("tap %s (%s), want %s", r.Capture.Tap, r.Capture.Why, want)
		}
	}
}
