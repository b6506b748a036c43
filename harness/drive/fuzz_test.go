package drive

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
)

func TestFuzzerFindsNothing(t *testing.T) {
	f := newFuzzer(gbn.Implementation(), trace.B, 1)
	if err := f.run(50_000); err != nil || f.violations != 0 {
		t.Errorf("%d violations, %v", f.violations, err)
	}
	if len(f.seeds) != len(seeds) {
		t.Errorf("%d of %d seeds parse", len(f.seeds), len(seeds))
	}
}

// overwriter stores what arrives at the beginning of its own source region, and completes READs that never were.
type overwriter struct {
	engine.Requester
	engine.Responder
	mem  engine.Memory
	done int
}

func (o *overwriter) HandlePacket(vtime.Time, *roce.Packet) {
	o.mem.Store(lockedBase, nil, 1)
	o.done++
}

func (o *overwriter) PollEvent() (engine.Event, bool) {
	o.done--
	return engine.Event{Op: engine.OpRead}, o.done >= 0
}

type half struct{ *overwriter }

func (h half) Flush(vtime.Time)                           {}
func (h half) HandleTimer(vtime.Time)                     {}
func (h half) PollTimer() (vtime.Time, bool)              { return 0, false }
func (h half) PollTransmit(vtime.Time, *roce.Packet) bool { return false }

func TestFuzzerFinds(t *testing.T) {
	impl := engine.Implementation{New: func(qp engine.QP, mem engine.Memory) (engine.Requester, engine.Responder, error) {
		req, resp, err := gbn.New(qp, mem)
		return req, half{&overwriter{Responder: resp, mem: mem}}, err
	}}
	f := newFuzzer(impl, trace.A, 1)
	if err := f.run(1000); err != nil || f.violations < 100 {
		t.Errorf("%d violations, %v; want one per request that arrives and one per completion", f.violations, err)
	}
}
