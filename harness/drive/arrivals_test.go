package drive

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Messages with an arrival process are posted when they arrive. A message that finds the queue full is posted when
// there is room, and the time that it waited is reported.
func TestArrivalsWaitForRoom(t *testing.T) {
	const ms = vtime.Time(vtime.Millisecond)
	b := newBed(t, Options{}, "qp qd=2", "load write msg=100 every=1ms count=4")
	b.Start(0)
	for at := vtime.Time(0); at <= 3*ms; at += ms {
		b.Wake(at)
	}
	if d := cmp.Diff([]uint64{0, 1}, b.ids()); d != "" || b.Idle() {
		t.Fatalf("idle %v, posted -want +got\n%s", b.Idle(), d)
	}
	if at := b.Deadline(); at != vtime.Never {
		t.Errorf("the queue is full, and it wants to be woken at %d", at)
	}
	b.out.now = 5 * ms
	b.tell(engine.StatusSuccess, 0)
	b.tell(engine.StatusSuccess, 1)
	var waited []vtime.Duration
	for _, e := range b.seen {
		if e.Kind == trace.Post {
			waited = append(waited, vtime.Duration(e.Value)/vtime.Millisecond)
		}
	}
	if d := cmp.Diff([]vtime.Duration{0, 0, 3, 2}, waited); d != "" {
		t.Errorf("milliseconds waited -want +got\n%s", d)
	}
	b.tell(engine.StatusSuccess, 2)
	b.tell(engine.StatusSuccess, 3)
	if !b.Idle() || b.Share() != 1 {
		t.Errorf("at the end idle %v, share %v", b.Idle(), b.Share())
	}
}

// An endpoint with messages still to arrive is not idle. A failed QP has none, and the end of a timed run ends
// arrivals.
func TestArrivalsEnd(t *testing.T) {
	b := newBed(t, Options{}, "load write msg=1 every=1ms count=2")
	b.Start(0)
	b.tell(engine.StatusSuccess, 0)
	if b.work.pending != 0 || b.Idle() {
		t.Errorf("%d pending, idle %v: one message is still to come", b.work.pending, b.Idle())
	}
	b.engines.fail(0)
	if !b.Idle() || b.Settle() && b.Deadline() != vtime.Never {
		t.Errorf("idle %v after the QP failed, deadline %d", b.Idle(), b.Deadline())
	}
	b = newBed(t, Options{}, "run for=10ms", "load write msg=1 every=20ms")
	b.Start(0)
	if at := b.Deadline(); at != vtime.Never {
		t.Errorf("wants to be woken at %d, after the end of the run", at)
	}
}
