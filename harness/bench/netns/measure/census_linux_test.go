package measure

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/certify"
)

func TestCensus(t *testing.T) {
	c := &Census{}
	sent := vtime.Time(0)
	see := func(fate trace.Fate, delay vtime.Duration, change func(*trace.Record)) {
		sent = sent.Add(10 * us)
		r := &trace.Record{Sent: sent, Recv: sent.Add(delay), Fate: fate}
		if fate == trace.Dropped || fate == trace.Unknown {
			r.Recv = vtime.Never
		}
		if change != nil {
			change(r)
		}
		c.Packet(r)
	}
	cause := func(text string) func(*trace.Record) { return func(r *trace.Record) { r.Cause = text } }
	see(trace.Delivered, ms, nil)
	see(trace.Dropped, 0, cause("loss"))
	see(trace.Dropped, 0, cause("loss"))
	see(trace.Dropped, 0, cause("drop[0]")) // scripted, not by the loss process
	see(trace.Dropped, 0, cause("queue"))
	see(trace.Delivered, ms, nil)
	see(trace.Delivered, 5*ms, cause("delay[0]")) // late by a fault
	see(trace.Delivered, ms, nil)
	see(trace.Delivered, ms-15*us, nil) // overtakes
	see(trace.Corrupted, ms, cause("corrupt"))
	see(trace.Corrupted, ms, cause("corrupt[1]"))
	see(trace.Delivered, ms, func(r *trace.Record) { r.Copy, r.Cause = true, "duplicate" })
	see(trace.Delivered, ms, func(r *trace.Record) { r.Copy, r.Cause = true, "dup[0]" })
	see(trace.Injected, ms, cause("inject"))
	see(trace.Unknown, 0, cause("capture"))
	want := pathCount{
		losses:  certify.Losses{Sent: 10, Lost: 2, Runs: 1, Over: 140 * us},
		changes: certify.Changes{Delivered: 7, Reordered: 1, Duplicated: 1, Corrupted: 1},
		damaged: 2, copies: 2, unknown: 1, made: 1, frames: 15,
		causes: map[string]uint64{"drop[0]": 1, "delay[0]": 1, "corrupt[1]": 1},
	}
	got := c.paths[trace.A]
	got.first, got.inRun, got.newest, got.seen = 0, false, 0, false
	if d := cmp.Diff(want, got, cmp.AllowUnexported(pathCount{})); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}
