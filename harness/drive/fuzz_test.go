package drive

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
	"github.com/rdma-gauntlet/gauntlet/impls/fasr"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
)

// Forged, malformed and stale frames, of the RC class and of a scheme's extensions, do not panic at either side of any
// implementation, and place no byte where the peer may not write.
func TestFuzzerFindsNothing(t *testing.T) {
	frames := 30_000
	if testing.Short() {
		frames = 5_000
	}
	for _, impl := range all.Implementations() {
		for _, side := range []trace.Side{trace.A, trace.B} {
			f := newFuzzer(impl, side, 1)
			if err := f.run(frames); err != nil || f.violations != 0 {
				t.Errorf("%s at %s: %d violations, %v", impl.Name, side, f.violations, err)
			}
			extensions := 0
			for code := range 256 {
				if op := roce.Opcode(code); op.Known() && impl.Accepts != nil && impl.Accepts(op) {
					extensions++
				}
			}
			if len(f.seeds) != len(seeds)+extensions {
				t.Errorf("%s: %d seeds, want %d and %d of its own", impl.Name, len(f.seeds), len(seeds), extensions)
			}
		}
	}
}

// Frames of the scheme's extensions reach the engine; else the fuzzer would test only packets that every transport
// drops.
func TestFuzzerReachesExtensions(t *testing.T) {
	f := newFuzzer(fasr.Implementation(), trace.B, 1)
	taken := map[roce.Opcode]bool{}
	f.impl.NewHost = nil
	build := f.impl.New
	f.impl.New = func(qp engine.QP, mem engine.Memory) (engine.Requester, engine.Responder, error) {
		req, resp, err := build(qp, mem)
		return req, watched{resp, taken}, err
	}
	if err := f.run(5000); err != nil || !taken[roce.FSendFirst] || !taken[roce.FSendFirst+roce.WriteOnly] ||
		!taken[roce.FReadRequest] {
		t.Errorf("the engine was given %v, %v", taken, err)
	}
}

// watched records the opcodes that a responder is given.
type watched struct {
	engine.Responder
	taken map[roce.Opcode]bool
}

func (w watched) HandlePacket(now vtime.Time, p *roce.Packet) {
	w.taken[p.Opcode] = true
	w.Responder.HandlePacket(now, p)
}

// overwriter is a faulty engine: on each packet it stores a byte outside what the peer may write, and completes a READ
// that was not posted.
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
	impl := engine.Implementation{
		New: func(qp engine.QP, mem engine.Memory) (engine.Requester, engine.Responder, error) {
			req, resp, err := gbn.New(qp, mem)
			return req, half{&overwriter{Responder: resp, mem: mem}}, err
		}}
	f := newFuzzer(impl, trace.A, 1)
	if err := f.run(1000); err != nil || f.violations < 100 {
		t.Errorf("%d violations, %v; want one per request that arrives and one per completion", f.violations, err)
	}
}
