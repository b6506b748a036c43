package dut

import (
	"slices"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// fitted returns the tool and the Spec for a scenario text, with the numbers of a device.
func fitted(t *testing.T, text string, side trace.Side) (*Tool, *scenario.Spec) {
	t.Helper()
	tool, s, err := Fit(parse(t, text), side)
	if err != nil {
		t.Fatal(err)
	}
	s.Devices[side] = scenario.Device{QPN: 0x11, Key: 0x8f1, Buffer: 0x7000}
	s.QP[side].SendPSN = psn.New(0xFFFFFE)
	return tool, s
}

// count returns the number of events of a kind, and the last of them.
func count(events []trace.Event, kind trace.EventKind) (n int, last trace.Event) {
	for _, e := range events {
		if e.Kind == kind {
			n, last = n+1, e
		}
	}
	return n, last
}

// TestToldCompletions: a tool that ends well has completed all requests by then; one that fails, none that are known.
func TestToldCompletions(t *testing.T) {
	tool, s := fitted(t, "load write msg=3000 count=6\n", trace.A)
	never := Ending{Done: vtime.Never, Gone: vtime.Never}
	if n, _ := count(tool.Told(s, trace.A, never), trace.CQE); n != 0 ||
		tool.Tells() != trace.ReportDone|trace.ReportFlushed {
		t.Errorf("%d completions of a tool that has said nothing, tells %b", n, tool.Tells())
	}
	done := Ending{Done: 5, Gone: vtime.Never}
	n, last := count(tool.Told(s, trace.A, done), trace.CQE)
	if want := psn.New(0xFFFFFE).Add(6*3 - 1); n != 6 || last.At != 5 || last.Body.PSN != want ||
		last.Side != trace.A || last.Body.ID != 5 {
		t.Errorf("%d completions, the last %+v; want 6, %v", n, last, want)
	}
	if n, post := count(tool.Told(s, trace.A, done), trace.Post); n != 6 || post.Len != 3000 ||
		post.At != vtime.Time(Lead) {
		t.Errorf("%d posts, the last %+v", n, post)
	}
	failed := Ending{Done: vtime.Never, Gone: 9,
		Said: " Completion with error at client\n Failed status 13: wr_id 0 syndrom 0x87\n"}
	if n, e := count(tool.Told(s, trace.A, failed), trace.CQE); n != 1 ||
		e.Body.Status != engine.StatusRNRRetryExceeded || e.At != 9 {
		t.Errorf("%d completions, %+v", n, e)
	}
}

// TestToldFlushed: for a tool that posted all requests at once, the kernel's trace gives each completion.
func TestToldFlushed(t *testing.T) {
	tool, s := fitted(t, "load write msg=3000 count=6\n", trace.A)
	failed := Ending{Done: vtime.Never, Gone: 9, Said: "Failed status 10: wr_id 0",
		Completed: []int{0, 10, 5, 5, 5, 21}}
	var got []engine.Status
	for _, e := range tool.Told(s, trace.A, failed) {
		if e.Kind == trace.CQE {
			if e.Body.ID != uint64(len(got)) || e.At != 9 {
				t.Errorf("completion %d: %+v", len(got), e)
			}
			got = append(got, e.Body.Status)
		}
	}
	want := []engine.Status{engine.StatusSuccess, engine.StatusRemoteAccess, engine.StatusFlushed, engine.StatusFlushed,
		engine.StatusFlushed,
		engine.StatusLocalProtection}
	if !slices.Equal(got, want) || failed.Silent()&trace.ReportFlushed != 0 {
		t.Errorf("%v, want %v", got, want)
	}
	if failed.Completed = nil; failed.Silent()&trace.ReportFlushed == 0 {
		t.Error("completions that nobody saw are told of")
	}
	if tool, _ = fitted(t, "qp qd=2\nload write msg=3000 count=6\n", trace.A); tool.Tells() != trace.ReportDone {
		t.Error("how many of its requests it had posted is not known")
	}
}

// TestToldServing: a passive tool has a region for its operation, or receives.
func TestToldServing(t *testing.T) {
	gone := Ending{Done: vtime.Never, Gone: 7, Said: "Failed status 1: wr_id 0"}
	for op, rights := range map[string]engine.Access{"write": engine.RemoteWrite,
		"read": engine.RemoteRead, "send": 0} {
		tool, s := fitted(t, "load "+op+" msg=5000 count=6\n", trace.B)
		events := tool.Told(s, trace.B, gone)
		values := map[string]int64{}
		for _, e := range events {
			if e.Kind == trace.Probe {
				values[e.Name] = e.Value
			}
		}
		if values["mr_rkey"] != 0x8f1 || values["mr_va"] != 0x7000 || engine.Access(values["mr_access"]) !=
			rights|engine.LocalWrite || values["mr_len"] < 5000 {
			t.Errorf("%s: %v", op, values)
		}
		posted, _ := count(events, trace.Receive)
		failed, recv := count(events, trace.Recv)
		if sends := op == "send"; (posted == postedReceives) != sends || (failed == 1) != sends || sends &&
			recv.Body.Status != engine.StatusLocalLength {
			t.Errorf("%s: %d receives, %d failed: %+v", op, posted, failed, recv)
		}
	}
}

// TestWitness: rping SENDs again when the data that it waited for has arrived, and compares after every second receive.
func TestWitness(t *testing.T) {
	tool, s := fitted(t, "turns rping from=B msg=900 count=2\n", trace.B)
	w := tool.Witness(s, trace.B)
	if tool.String() != "rping -c" || len(w.Begin()) != 1 {
		t.Fatalf("%s, %v", tool, w.Begin())
	}
	send := func(from trace.Side, op roce.Opcode, ahead int) (recv, looked int) {
		r := trace.Record{From: from, Sent: 3}
		r.Packet.Opcode, r.Packet.PSN = op, s.QP[trace.B].SendPSN.Add(ahead)
		events := w.Packet(&r)
		recv, _ = count(events, trace.Recv)
		looked, _ = count(events, trace.Memory)
		return recv, looked
	}
	for i, c := range []struct {
		from         trace.Side
		op           roce.Opcode
		ahead        int
		recv, looked int
	}{
		{trace.B, roce.SendOnly, 0, 0, 0}, {trace.A, roce.SendOnly, 1, 0, 0}, {trace.B, roce.SendOnly, 0, 0, 0},
		{trace.B, roce.ReadRespOnly, 1, 0, 0},
		{trace.B, roce.SendOnly, 1, 1, 0}, {trace.B, roce.SendOnly, 2, 1, 1}, {trace.B, roce.SendOnly, 3, 1, 0},
	} {
		if recv, looked := send(c.from, c.op, c.ahead); recv != c.recv || looked != c.looked {
			t.Errorf("packet %d: %d receives, %d looks; want %d and %d", i, recv, looked, c.recv, c.looked)
		}
	}
	if n, e := count(w.End(Ending{Gone: 9, Said: "data mismatch!"}), trace.Memory); n != 1 || e.Value == 0 {
		t.Errorf("a mismatch: %d, %+v", n, e)
	}
	if w.End(Ending{Gone: vtime.Never}) != nil || w.End(Ending{Gone: 9, Said: "cq completion failed status 5"}) != nil {
		t.Error("a tool that was ended, or failed, tells nothing")
	}
	if n, _ := count(w.End(Ending{Gone: 9}), trace.Memory); n != 1 {
		t.Errorf("%d looks at the end, want 1", n)
	}
	var none *Witness
	if none.Begin() != nil || none.Packet(nil) != nil || none.End(Ending{}) != nil {
		t.Error("no witness tells something")
	}
}
