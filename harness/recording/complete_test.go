package recording

import (
	"bytes"
	"strings"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/tracetest"
)

// counted returns a pcapng file of the frames at A's tap, with the number of lost frames; a negative number writes
// none.
func counted(t *testing.T, text string, lost int) *bytes.Reader {
	t.Helper()
	return countedAt(t, text, trace.A, lost)
}

// countedAt is counted for the frames at a tap.
func countedAt(t *testing.T, text string, tap trace.Side, lost int) *bytes.Reader {
	t.Helper()
	var b bytes.Buffer
	w, err := pcapgo.NewNgWriter(&b, layers.LinkTypeEthernet)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range tracetest.FramesAt(tracetest.Parse(t, text, 0), tap) {
		if err := w.WritePacket(gopacket.CaptureInfo{Timestamp: f.Wall, CaptureLength: len(f.Raw), Length: len(f.Raw)},
			f.Raw); err != nil {
			t.Fatal(err)
		}
	}
	if lost >= 0 {
		s := pcapgo.NgInterfaceStatistics{PacketsReceived: pcapgo.NgNoValue64, PacketsDropped: uint64(lost)}
		if err := w.WriteInterfaceStats(0, s); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(b.Bytes())
}

// That the cut parts of frames are undamaged is assumed, unless frames that are whole are damaged.
func TestCutFramesBesideDamagedOnes(t *testing.T) {
	for _, c := range []struct {
		of   Capture
		want int
	}{{Capture{Cut: 3}, 0}, {Capture{BadICRC: 1}, 0}, {Capture{Cut: 3, BadICRC: 1}, 1}} {
		if got := c.of.Doubts(); len(got) != c.want {
			t.Errorf("%d cut, %d damaged: doubts %v", c.of.Cut, c.of.BadICRC, got)
		}
	}
}

// A capture is complete by its own count, or assumed to be. Missing frames are doubts on their connection if all of
// them are located there.
func TestCompleteness(t *testing.T) {
	const whole = "A>B SEND_ONLY psn=+0 len=8 A\nB>A ACK psn=+0 msn=1\nB>A SEND_ONLY psn=+0 len=8 " +
		"A\nA>B ACK psn=+0 msn=1\n"
	const one = whole + "A>B SEND_ONLY psn=+2 len=8 A\nB>A ACK psn=+2 msn=3\n"
	const two = one + "A>B SEND_ONLY psn=+4 len=8 A\nB>A ACK psn=+4 msn=5\n"
	for _, c := range []struct {
		name, text string
		lost       int
		want       Completeness
		all, there string // doubts on the whole capture, and on A's requests
	}{
		{"nobody counts", whole, -1, Assumed, "", ""},
		{"none lost", whole, 0, Certified, "", ""},
		{"one lost, nobody knows where", whole, 1, Incomplete, "1 by its own count, 0 located", ""},
		{"one lost there", one, 1, Incomplete, "", "psn=+1 was acknowledged"},
		{"none lost, but for one", one, 0, Incomplete, "", "psn=+1 was acknowledged"},
		{"one is missing", one, -1, Incomplete, "", "psn=+1 was acknowledged"},
		{"more lost than are missing there", one, 2, Incomplete, "2 by its own count, 1 located",
			"psn=+1 was acknowledged"},
		{"two lost, and located", two, 2, Incomplete, "", "psn=+1 was acknowledged"},
		{"two are missing", two, -1, Incomplete, "not counted, 2 located", "psn=+1 was acknowledged"},
	} {
		in := counted(t, c.text, c.lost)
		r, err := ReadFrom("x", in, in.Size(), Stated{Tap: Tap{place: between}})
		if err != nil {
			t.Fatal(err)
		}
		var all string
		for _, d := range r.Capture.Doubts() {
			all = d.Why
		}
		conn := &r.Header.Conns[0]
		there, other := conn.Doubtful(trace.A).Why, conn.Doubtful(trace.B).Why
		for got, want := range map[string]string{all: c.all, there: c.there} {
			if (got == "") != (want == "") || !strings.Contains(got, want) {
				t.Errorf("%s: %q is doubted, want %q", c.name, got, want)
			}
		}
		if got := r.Capture.Completeness(); got != c.want || other != "" {
			t.Errorf("%s: %s, and %q of B's requests", c.name, got, other)
		}
	}
}

// A frame that is repeated at once may have been recorded twice, unless it is an ACK for a duplicate.
func TestRepeatedAtOnce(t *testing.T) {
	const text = "A>B SEND_ONLY psn=+0 len=8 A\nA>B SEND_ONLY psn=+1 len=8 A\n"
	const acks = "B>A ACK psn=+0 msn=1\nB>A ACK psn=+1 msn=2\n"
	const third = "A>B SEND_ONLY psn=+2 len=8 A\nB>A ACK psn=+2 msn=3\n"
	const asked = text + "B>A NAK psn=+1 msn=1 PSN_SEQ_ERR\n"
	for _, c := range []struct{ name, text, want string }{
		{"nothing before", "A>B SEND_FIRST psn=+0 len=256\nA>B SEND_LAST psn=+1 len=8 A\nB>A ACK psn=+1 msn=1\n", ""},
		{"nothing", text + "B>A ACK psn=+1 msn=2\n", ""},
		{"a request", text + "A>B SEND_ONLY psn=+1 len=8 A\nB>A ACK psn=+1 msn=2\n", "psn=+1 twice within 2us"},
		{"a NAK", asked + "B>A NAK psn=+1 msn=1 PSN_SEQ_ERR\n@20 A>B SEND_ONLY psn=+1 len=8 A\nB>A ACK psn=+1 msn=2\n",
			"psn=+1 twice within 2us"},
		{"a NAK, later", asked + "@20 B>A NAK psn=+1 msn=1 PSN_SEQ_ERR\n@40 A>B SEND_ONLY psn=+1 len=8 " +
			"A\nB>A ACK psn=+1 msn=2\n", ""},
		{"an ACK", text + acks + "B>A ACK psn=+1 msn=2\n", "psn=+1 twice within 2us"},
		{"the ACKs of duplicates", text + acks + third + "@20 A>B SEND_ONLY psn=+0 len=8 A\n" +
			"A>B SEND_ONLY psn=+1 len=8 A\n" +
			"B>A ACK psn=+2 msn=3\nB>A ACK psn=+2 msn=3\n", ""},
		{"the ACK of a request that others overtook, twice", text + acks + "A>B SEND_ONLY psn=+3 len=8 A\n" +
			"A>B SEND_ONLY psn=+2 len=8 A\nB>A ACK psn=+2 msn=3\nB>A ACK psn=+2 msn=3\n", "psn=+2 twice within 2us"},
		{"more ACKs than duplicates", text + acks + third + "@20 A>B SEND_ONLY psn=+1 len=8 A\n" +
			"B>A ACK psn=+2 msn=3\nB>A ACK psn=+2 msn=3\n", "psn=+2 twice within 2us"},
		{"an ACK after another", text + "B>A ACK psn=+0 msn=1\nB>A ACK psn=+1 msn=2\nB>A ACK psn=+0 msn=1\n",
			"psn=+0 twice within 2us"},
	} {
		in := counted(t, c.text, 0)
		r, err := ReadFrom("x", in, in.Size(), Stated{Tap: Tap{place: between}})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Header.Conns[0].Doubtful(trace.A).Why; (got == "") != (c.want == "") || !strings.Contains(got, c.want) ||
			r.Capture.Completeness() != Certified {
			t.Errorf("%s: %q, want %q; %s", c.name, got, c.want, r.Capture.Completeness())
		}
	}
}
