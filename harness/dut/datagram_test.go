package dut

import (
	"slices"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

const datagrams = "inject B at=5ms : UD_SEND_ONLY psn=+0 qkey=0x11111111 len=64\n"

// TestDatagrams: crafted datagrams need a tool with a UD QP, and each datagram of the tool answers one that it
// received.
func TestDatagrams(t *testing.T) {
	tool, s := fitted(t, datagrams, trace.B)
	want := []string{"-e", "-d", "rxe0", "-g", "1", "-p", "99", "-s", "256", "-n", "100000"}
	if got := tool.Args(Setting{Device: "rxe0", GID: 1, Port: 99}); tool.Program != "ibv_ud_pingpong" ||
		!tool.Datagrams() || !slices.Equal(got, want) {
		t.Errorf("%s %q, want %q", tool, got, want)
	}
	events := tool.Told(s, trace.B, Ending{End: 9, Violations: 3})
	if n, e := count(events, trace.Count); n != 1 || e.Name != "qkey" || e.Value != 3 || e.At != 9 {
		t.Errorf("%d counts, %+v", n, e)
	}
	if n, e := count(events, trace.Probe); n != 1 || e.Name != "qkey" || e.Value != datagramKey {
		t.Errorf("%d probes, %+v", n, e)
	}
	w := tool.Witness(s, trace.B)
	answer := trace.Record{From: trace.B, Sent: 4}
	answer.Packet.Opcode = roce.UDSendOnly
	for i := range 2 {
		if got := w.Packet(&answer); len(got) != 1 || got[0].Kind != trace.Recv || got[0].At != answer.Time() ||
			got[0].Side != trace.B || got[0].Body.ID != uint64(i) {
			t.Errorf("answer %d tells %+v", i, got)
		}
	}
	if answer.From = trace.A; len(w.Packet(&answer))+len(w.Begin())+len(w.End(Ending{Gone: 9})) != 0 {
		t.Error("a datagram to the tool tells what it received")
	}
}

// TestQKeyViolations: the counter is in the output of ibv_devinfo, or the error says that it is missing.
func TestQKeyViolations(t *testing.T) {
	if n, err := QKeyViolations(
		"\t\t\tbad_pkey_cntr:\t\t0x1\n\t\t\tqkey_viol_cntr:\t\t0x1f\n\t\t\tsm_sl:\t\t\t0\n"); n != 31 || err != nil {
		t.Errorf("%d, %v; want 31", n, err)
	}
	for _, info := range []string{"", "qkey_viol_cntr:", "qkey_viol_cntr:\tnone"} {
		if n, err := QKeyViolations(info); err == nil {
			t.Errorf("%q: %d", info, n)
		}
	}
}

// TestSilent: a value that could not be read is not reported.
func TestSilent(t *testing.T) {
	e := Ending{Violations: Unread}
	if got, want := e.Silent(), trace.ReportChanges|trace.ReportDatagrams|trace.ReportFlushed; got != want {
		t.Errorf("%b, want %b", got, want)
	}
	if e = (Ending{Compared: true, Completed: []int{0}}); e.Silent() != 0 {
		t.Errorf("%b, want none", e.Silent())
	}
}

// TestToldChanges: changes in the memory of a passive tool are reported at the end.
func TestToldChanges(t *testing.T) {
	tool, s := fitted(t, "load write msg=5000 count=6\n", trace.B)
	events := tool.Told(s, trace.B, Ending{Done: vtime.Never, Gone: vtime.Never, End: 8,
		Changed: []Range{{VA: 0x7000, Len: 5}}})
	if n, e := count(events, trace.Changed); n != 1 || e.VA != 0x7000 || e.Len != 5 || e.At != 8 ||
		tool.Tells()&trace.ReportChanges == 0 {
		t.Errorf("%d changes, %+v, tells %b", n, e, tool.Tells())
	}
}

// round is the output of a passive rping in one round; its two threads interleave in any order.
const round = "server posted rdma read req \nrdma read completion\nserver received read complete\nserver posted go " +
	"ahead\nrecv completion\nrdma write from lkey 47b laddr 560943a9adc0 len 900\nsend completion\nrdma write " +
	"completion\nsend completion\nserver posted go ahead\n"

// TestPrinted: the completions that rping prints belong to its requests in the order of printing.
func TestPrinted(t *testing.T) {
	tool, s := fitted(t, "turns rping from=A msg=900 count=2\n", trace.B)
	for _, c := range []struct {
		said string
		gone vtime.Time
		want []engine.Event // completions
	}{
		{round, vtime.Never, []engine.Event{{ID: 0, Op: engine.OpRead}, {ID: 1, Op: engine.OpSend},
			{ID: 2, Op: engine.OpWrite}, {ID: 3, Op: engine.OpSend}}},
		// in another order
		{"rdma write from lkey 1\nserver posted go ahead\nsend completion\nrdma write completion\n", vtime.Never,
			[]engine.Event{{ID: 1, Op: engine.OpSend}, {ID: 0, Op: engine.OpWrite}}},
		{"server posted go ahead\nsend completion\nsend completion\n", vtime.Never, // one too many
			[]engine.Event{{ID: 0, Op: engine.OpSend}, {ID: 1, Op: engine.OpSend}}},
		{"cq completion failed status 12\nserver posted rdma read req \n", 5,
			[]engine.Event{{ID: 0, Op: engine.OpRead, Status: engine.StatusRetryExceeded}}},
	} {
		var got []engine.Event
		for _, e := range tool.Told(s, trace.B, Ending{Done: vtime.Never, Gone: c.gone, End: 9, Said: c.said}) {
			if e.Kind == trace.CQE {
				e.Body.Len = 0
				got = append(got, e.Body)
			}
			if e.Kind == trace.CQE && e.At != min(c.gone, 9) {
				t.Errorf("a completion at %v", e.At)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: completions %+v, want %+v", c.said, got, c.want)
		}
	}
	if n, e := count(tool.Told(s, trace.B, Ending{Said: round}), trace.Post); n != 4 || e.Len != pingLen ||
		e.Body.Op != engine.OpSend {
		t.Errorf("%d posts, the last %+v", n, e)
	}
}
