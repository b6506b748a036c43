package lowar_test

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/memory"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// wire is one end that writes to another without delay except for one round trip. It is much faster than the simulator,
// for tests with many runs, and for benchmarks.
type wire struct {
	req  engine.Requester
	resp engine.Responder
	lose func(n int) bool // reports whether the n-th packet to the responder is lost, from 0
	now  vtime.Time
	back []roce.Packet
	q, p roce.Packet // packets in flight to the responder and back

	sent, data, naks, again, timeouts int
	next                              psn.PSN
}

// write is the request that wires carry, of 160 packets.
var write = engine.WorkRequest{Op: engine.OpWrite, Len: 160 << 10, LocalVA: 1 << 30, RemoteVA: 1 << 40, RKey: 2}

func newWire(t testing.TB, impl engine.Implementation, params engine.Params, lose func(n int) bool) *wire {
	t.Helper()
	qp := engine.QP{MTU: 1024, QueueDepth: 128, ReceiveDepth: 8, AckReqEvery: 16, MaxRdAtomic: 4, MaxDestRd: 4,
		QPN: 5, DestQPN: 5,
		RTO: vtime.Millisecond, RetryCount: 7, RNRRetry: 7, Access: engine.AllAccess,
		PKey: roce.DefaultPKey, Params: params}
	var mem memory.Host
	for _, r := range []memory.Region{
		{RKey: 1, Base: write.LocalVA, Len: uint64(write.Len), Access: engine.AllAccess,
			Bytes: make([]byte, write.Len)},
		{RKey: 2, Base: write.RemoteVA, Len: uint64(write.Len), Access: engine.AllAccess,
			Bytes: make([]byte, write.Len)},
	} {
		if err := mem.Register(r); err != nil {
			t.Fatal(err)
		}
	}
	mem.Fill(write.LocalVA, int(write.Len), 7)
	req, _, err := impl.New(qp, &mem)
	if err != nil {
		t.Fatal(err)
	}
	_, resp, err := impl.New(qp, &mem)
	if err != nil {
		t.Fatal(err)
	}
	return &wire{req: req, resp: resp, lose: lose, back: make([]roce.Packet, 0, 4096)}
}

// message writes one message and carries packets until it is complete.
func (w *wire) message(t testing.TB) {
	if err := w.req.Post(w.now, write); err != nil {
		t.Fatal(err)
	}
	for {
		for w.req.PollTransmit(w.now, &w.q) {
			w.count(&w.q)
			if !w.lose(w.sent - 1) {
				w.resp.HandlePacket(w.now, &w.q)
			}
			w.answers()
		}
		for i := range w.back {
			w.req.HandlePacket(w.now, &w.back[i])
		}
		moved := len(w.back) > 0
		w.back = w.back[:0]
		for ev, ok := w.req.PollEvent(); ok; ev, ok = w.req.PollEvent() {
			if ev.Kind == engine.CQE {
				return
			}
		}
		if !moved {
			w.wake()
		}
	}
}

// count counts a packet that leaves.
func (w *wire) count(p *roce.Packet) {
	w.sent++
	if p.Opcode == roce.LoWAR {
		return
	}
	w.data++
	if p.PSN.Less(w.next) {
		w.again++
	}
	w.next = psn.Max(w.next, p.PSN.Next())
}

// answers collects the packets of the responder.
func (w *wire) answers() {
	p := &w.p
	for w.resp.PollTransmit(w.now, p) {
		if p.Opcode == roce.Acknowledge && p.AETH.Syndrome.IsNAK() {
			w.naks++
		}
		w.back = append(w.back, *p)
	}
}

// wake advances time to the first timer.
func (w *wire) wake() {
	at := vtime.Never
	if d, ok := w.req.PollTimer(); ok {
		at = d
	}
	if d, ok := w.resp.PollTimer(); ok {
		at = min(at, d)
	}
	w.now = max(w.now, at)
	w.resp.HandleTimer(w.now)
	w.answers()
	if d, ok := w.req.PollTimer(); ok && d <= w.now {
		w.timeouts++
		w.req.HandleTimer(w.now)
	}
}
