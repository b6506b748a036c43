package sim_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
)

// A run ends when the work is done, its time is over, or a limit is reached, and the trace has the time of the end.
func TestEndings(t *testing.T) {
	const ms = vtime.Time(vtime.Millisecond)
	tests := []struct {
		name  string
		lines []string
		steps uint64
		err   bool
		end   vtime.Time // 0 for any
	}{
		{"done", []string{"load write msg=1024 count=1"}, 0, false, 0},
		{"time over", []string{"load write msg=64KiB", "run for=3ms"}, 0, false, 3 * ms},
		{"done before", []string{"load write msg=1024 count=1", "run for=300ms"}, 0, false, 0},
		{"limit", []string{"load write msg=64KiB count=10000", "run limit=3ms"}, 0, true, 3 * ms},
		{"time over at the limit", []string{"load write msg=64KiB", "run for=3ms limit=3ms"}, 0, false, 3 * ms},
		{"steps", []string{"load write msg=64KiB count=10000"}, 999, true, 0},
	}
	for _, tt := range tests {
		var c trace.Collector
		w := world(t, spec(t, append([]string{"link rate=10G delay=1ms queue=999", "qp rto=5ms"}, tt.lines...)...),
			sim.Options{Sink: &c, Steps: tt.steps})
		err := w.Run()
		if errors.Is(err, sim.ErrLimit) != tt.err || err != nil && !tt.err {
			t.Errorf("%s: %v", tt.name, err)
		}
		if c.Ended == 0 || tt.end != 0 && c.Ended != tt.end {
			t.Errorf("%s: ended at %d, want %d", tt.name, c.Ended, tt.end)
		}
		for _, r := range c.Records {
			if r.Time() > c.Ended {
				t.Errorf("%s: a record of %d, after the end at %d", tt.name, r.Time(), c.Ended)
			}
		}
	}
}

// A run that ends early leaves packets in flight, which were sent and arrive after the end.
func TestInTheAir(t *testing.T) {
	w, c := play(t, sim.Options{}, "link rate=10G delay=1ms queue=9999", "qp qd=64",
		"load write msg=64KiB", "run for=5ms")
	flying := 0
	for _, r := range c.Records {
		if r.Recv > c.Ended && r.Recv != vtime.Never {
			flying++
		}
	}
	want := w.Spec().Link.AB.BDPPackets(vtime.Millisecond, 1106)
	if flying < want-2 || flying > want+20 {
		t.Errorf("%d packets in the air, want the %d that the link holds", flying, want)
	}
}

// Timers that were moved do not advance the clock of a world at rest.
func TestRest(t *testing.T) {
	w, c := play(t, sim.Options{}, "link rate=10G delay=1ms", "qp rto=500ms", "load write msg=1024 count=50")
	last := c.Records[len(c.Records)-1].Recv
	if w.Now() != last {
		t.Errorf("at rest at %d, the last packet arrived at %d", w.Now(), last)
	}
	if want := last.Add(502 * vtime.Millisecond); c.Ended != want {
		t.Errorf("watched until %d, want one timer and round trip more: %d", c.Ended, want)
	}
}

// The record of a lost last packet reaches the trace although nothing else happens.
func TestLastPacketLost(t *testing.T) {
	_, c := play(t, sim.Options{}, "link rate=1M", "loss A>B random p=1", "qp timeout=0", "post-write len=1024")
	if len(c.Records) != 1 || c.Records[0].Fate != trace.Dropped || c.Records[0].Sent > c.Ended {
		t.Errorf("records %+v, ended at %d", c.Records, c.Ended)
	}
}

// run plays a Spec on the bench.
func run(t *testing.T, ctx context.Context, impl engine.Implementation, sink trace.Sink, progress func(float64, string),
	lines ...string) (*bench.Evidence, error) {
	t.Helper()
	job, err := bench.NewJob(spec(t, lines...), both(impl))
	if err != nil {
		t.Fatal(err)
	}
	job.Progress, job.Open = progress, func(trace.Header) (trace.Sink, error) { return sink, nil }
	return sim.Bench{}.Run(ctx, job)
}

func TestCancel(t *testing.T) {
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	calls := 0
	var a auditor
	ev, err := run(t, ctx, gbn.Implementation(), &a, func(share float64, what string) {
		calls++
		if share < 0 || share > 1 || !strings.HasPrefix(what, "virtual time ") {
			t.Errorf("progress %v %q", share, what)
		}
		cancel(enough)
	}, "link rate=10G delay=1ms queue=9999", "load write msg=1MiB", "run for=1000s")
	if !errors.Is(err, enough) || calls != 1 || ev == nil || !a.ended || a.sent[trace.A] == 0 {
		t.Errorf("%v after %d calls; evidence %v, %d packets", err, calls, ev, a.sent[trace.A])
	}
	if _, err := run(t, ctx, gbn.Implementation(), &auditor{}, nil,
		"load write msg=1 count=1"); !errors.Is(err, enough) {
		t.Errorf("a run of a cancelled context: %v", err)
	}
}

// A run that stops with outstanding work and no further event is reported as incomplete.
func TestStalled(t *testing.T) {
	for _, tt := range []struct {
		lines []string
		want  string
	}{
		{[]string{"load write msg=1024 count=3"}, ""},
		{[]string{"loss A>B random p=1", "qp timeout=0", "load write msg=1024 count=3"},
			"3 requests of A never completed, and nothing was left to happen"},
		{[]string{"loss A>B random p=1", "qp rto=1ms retry=1 qd=2", "load write msg=1024 count=9"},
			"QP 0 of A failed with 9 of its 9 messages undone, and nothing was left to happen"},
		{[]string{"loss random p=1", "qp timeout=0", "load write msg=1 count=1 from=B", "run limit=5s"},
			"1 requests of B never completed, and nothing was left to happen"},
		// the time asked for is over
		{[]string{"loss A>B random p=1", "load write msg=1024", "run for=5ms"}, ""},
	} {
		ev, err := run(t, context.Background(), gbn.Implementation(), &auditor{}, nil, tt.lines...)
		if err != nil || ev.Incomplete != tt.want {
			t.Errorf("%q: %v, incomplete %q, want %q", tt.lines, err, ev.Incomplete, tt.want)
		}
	}
}

// The evidence has drops of the endpoints, which the trace does not show.
func TestEvidence(t *testing.T) {
	ev, err := run(t, context.Background(), gbn.Implementation(), &auditor{}, nil, "load write msg=1024 count=3",
		"inject B at=1us : SEND_ONLY psn=+0 qp=99", "inject B at=2us icrc=bad : SEND_ONLY psn=+0",
		"inject A at=2us set=tver:1 : SEND_ONLY psn=+0")
	if err == nil {
		t.Fatalf("an injection of a field that no packet has: %v", ev)
	}
	ev, err = run(t, context.Background(), gbn.Implementation(), &auditor{}, nil, "load write msg=1024 count=3",
		"loss random p=10%", "inject B at=1us : SEND_ONLY psn=+0 qp=99", "inject B at=2us icrc=bad : SEND_ONLY psn=+0",
		"inject A at=2us : SEND_ONLY psn=+0 tver=1")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, c := range ev.Counters {
		got[c[0]] = c[1]
	}
	if got["A dropped: tver"] != "1" || got["B dropped: qpn"] != "1" || got["B dropped: icrc"] != "1" ||
		len(ev.Notes) != 2 {
		t.Errorf("counters %v, notes %q", ev.Counters, ev.Notes)
	}
}

func TestRefusals(t *testing.T) {
	bad := gbn.Implementation()
	bad.New = func(engine.QP, engine.Memory) (engine.Requester, engine.Responder, error) {
		return nil, nil, errors.New("no")
	}
	if _, err := run(t, context.Background(), bad, &auditor{}, nil, "load write msg=1 count=1"); err == nil ||
		err.Error() != "gbn at A: no" {
		t.Errorf("an implementation that refuses: %v", err)
	}
	if _, err := run(t, context.Background(), gbn.Implementation(), &auditor{}, nil, "load write msg=1 count=1",
		"loss tape file=/nonexistent"); err == nil {
		t.Error("a tape that is not there is accepted")
	}
	boom := errors.New("boom")
	job, err := bench.NewJob(spec(t, "load write msg=1 count=1"), both(gbn.Implementation()))
	if err != nil {
		t.Fatal(err)
	}
	job.Open = func(trace.Header) (trace.Sink, error) { return nil, boom }
	if _, err := (sim.Bench{}).Run(context.Background(), job); !errors.Is(err, boom) {
		t.Errorf("a sink that cannot be opened: %v", err)
	}
	if _, err := (sim.Bench{}).Run(context.Background(), &bench.Job{Spec: job.Spec, Impls: job.Impls,
		Open: job.Open}); err == nil || !strings.Contains(err.Error(), "NewJob") {
		t.Errorf("a job whose Spec the implementations have not seen: %v", err)
	}
}

// A run without a sink keeps its counters.
func TestNoSink(t *testing.T) {
	w := world(t, spec(t, "link rate=1G delay=1ms", "loss random p=1%", "dup A nth=3", "load write msg=64KiB count=9",
		"inject B at=1us icrc=bad : SEND_ONLY psn=+0"), sim.Options{})
	if err := w.Run(); err != nil || w.Channel(trace.A).Counters().Delivered < 9*64 ||
		w.Endpoint(trace.A).Share() != 1 {
		t.Errorf("%v, %+v", err, w.Channel(trace.A).Counters())
	}
}
