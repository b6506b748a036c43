package losstape_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/losstape"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
	"github.com/rdma-gauntlet/gauntlet/netem/tape"
)

const wan = "link rate=1G delay=1ms\nqp rto=10ms qd=8 count=2\nload write msg=16KiB count=100\n"

// record runs a scenario and returns the tape of the losses from A to B.
func record(t *testing.T, text string, key tape.Key, slot vtime.Duration) *tape.Tape {
	t.Helper()
	s, err := scenario.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	sink, err := losstape.New(s, trace.A, key, slot)
	if err != nil {
		t.Fatal(err)
	}
	impl, _ := all.Find(s.Impl[0])
	job, err := bench.NewJob(s, [2]engine.Implementation{impl, impl})
	if err != nil {
		t.Fatal(err)
	}
	job.Open = func(trace.Header) (trace.Sink, error) { return sink, nil }
	if _, err = (sim.Bench{}).Run(context.Background(), job); err != nil {
		t.Fatal(err)
	}
	out, err := sink.Tape()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// file writes a tape to a file, for a scenario to play.
func file(t *testing.T, x *tape.Tape) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.tape")
	f, err := os.Create(path)
	if err == nil {
		_, err = x.WriteTo(f)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// A recorded tape loses the same again: by index and by identity the same packets, and by time in the same slots.
func TestReplayLosesTheSame(t *testing.T) {
	const losses = wan + "loss A>B random p=1%\n"
	for key, slot := range map[tape.Key]vtime.Duration{tape.ByIndex: 0, tape.ByIdentity: 0,
		tape.ByTime: vtime.Microsecond} {
		first := record(t, losses, key, slot)
		again := record(t, wan+"loss A>B tape file="+file(t, first)+"\n", key, slot)
		if first.Lost() < 20 {
			t.Errorf("%s: %d lost", key, first.Lost())
		}
		if d := cmp.Diff(first.Spans, again.Spans) + cmp.Diff(first.IDs, again.IDs); d != "" {
			t.Errorf("%s (-recorded +replayed)\n%s", key, d)
		}
		if err := losstape.Missed(first, again); err != nil {
			t.Error(err)
		}
	}
}

// A tape by index that is played and recorded by identity has the same losses.
func TestConvert(t *testing.T) {
	index := record(t, wan+"loss A>B random p=1%\n", tape.ByIndex, 0)
	identity := record(t, wan+"loss A>B tape file="+file(t, index)+"\n", tape.ByIdentity, 0)
	back := record(t, wan+"loss A>B tape file="+file(t, identity)+"\n", tape.ByIndex, 0)
	if index.Lost() != identity.Lost() {
		t.Errorf("%d losses by index, %d by identity", index.Lost(), identity.Lost())
	}
	if d := cmp.Diff(index.Spans, back.Spans); d != "" {
		t.Errorf("there and back (-first +last)\n%s", d)
	}
}

// Two schemes have the same fades from a tape by time, although they send different packets.
func TestSchemesMeetTheSameFades(t *testing.T) {
	fades := &tape.Tape{Key: tape.ByTime, Slot: vtime.Millisecond, Length: 1000,
		Spans: []tape.Span{{From: 5, To: 5}, {From: 9, To: 9}}}
	path := file(t, fades)
	for _, impl := range []string{"gbn", "irn"} {
		got := record(t, "impl "+impl+"\n"+wan+"loss A>B tape file="+path+"\n", tape.ByTime, vtime.Millisecond)
		if d := cmp.Diff(fades.Spans, got.Spans); d != "" {
			t.Errorf("%s (-tape +lost)\n%s", impl, d)
		}
	}
}

// A tape that names packets never sent is of another link or workload, and playing it is an error.
func TestTapeOfAnotherRun(t *testing.T) {
	for _, foreign := range []*tape.Tape{
		{Key: tape.ByIdentity, IDs: []tape.ID{{QP: 0, Offset: 3, Tx: 1}, {QP: 7, Offset: 3, Tx: 1}}},
		{Key: tape.ByIndex, Length: 1e6, Spans: []tape.Span{{From: 4, To: 4}, {From: 900_000, To: 900_001}}},
	} {
		again := record(t, wan+"loss A>B tape file="+file(t, foreign)+"\n", foreign.Key, 0)
		if err := losstape.Missed(foreign, again); err == nil || !strings.Contains(err.Error(),
			"another link or workload") {
			t.Errorf("%s: %v", foreign.Key, err)
		}
	}
}

func TestNewRejects(t *testing.T) {
	s := scenario.Default()
	for _, bad := range []struct {
		key  tape.Key
		slot vtime.Duration
	}{{"colour", 0}, {tape.ByTime, 0}, {tape.ByIndex, 1}, {tape.ByTime, -1}} {
		if _, err := losstape.New(s, trace.A, bad.key, bad.slot); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}
