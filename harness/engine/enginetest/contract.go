package enginetest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// checkConservation requires that every work request completes once and in order also when the QP fails, because every
// packet is lost from then on or because it is flushed.
func checkConservation(impl engine.Implementation, opts Options) error {
	for _, after := range []int{0, 1, 7, 40} {
		err := failing(impl, opts, func(d *pair) {
			d.fate = func(n int, _ *roce.Packet) fate { return fate{drop: n >= after} }
		})
		if err != nil {
			return fmt.Errorf("a wire dead after %d packets: %w", after, err)
		}
	}
	for _, at := range []vtime.Time{1, vtime.Time(8 * vtime.Microsecond), vtime.Time(60 * vtime.Microsecond)} {
		if err := failing(impl, opts, func(d *pair) { d.flushAt = at }); err != nil {
			return fmt.Errorf("flushed at %sus: %w", at.Micros(), err)
		}
	}
	return nil
}

// failing runs the workload into a failure and checks the completions.
func failing(impl engine.Implementation, opts Options, prepare func(*pair)) error {
	d, err := newPair(impl, opts, starts[2])
	if err != nil {
		return err
	}
	wrs := mixed(opts.ops(), d.ends[0].qp.MTU, requests)
	if err := d.load(wrs); err != nil {
		return err
	}
	prepare(d)
	if err := d.run(); err != nil {
		return err
	}
	e := d.ends[0]
	if !e.failed {
		return errors.New("the QP did not fail")
	}
	posted := wrs[:len(wrs)-len(d.posts)]
	if err := endings(e.events, posted); err != nil {
		return err
	}
	if err := e.req.Post(d.now, wrs[0]); !errors.Is(err, engine.ErrQPState) {
		return fmt.Errorf("Post on a failed QP returns %v, want %v", err, engine.ErrQPState)
	}
	if err := e.resp.PostReceive(d.now, engine.ReceiveRequest{}); !errors.Is(err, engine.ErrQPState) {
		return fmt.Errorf("PostReceive on a failed QP returns %v, want %v", err, engine.ErrQPState)
	}
	return nil
}

// endings requires successes, then one error unless the QP was flushed from outside, then flushes: one completion per
// request, in order. Only an unsignalled request that succeeded may have none.
func endings(events []engine.Event, posted []engine.WorkRequest) error {
	broken := false
	for _, ev := range events {
		if ev.Kind != engine.CQE {
			continue
		}
		for len(posted) > 0 && !broken && posted[0].Unsignal && posted[0].ID != ev.ID {
			posted = posted[1:]
		}
		if len(posted) == 0 || posted[0].ID != ev.ID {
			return fmt.Errorf("completion of request %d is out of order or a repetition", ev.ID)
		}
		posted = posted[1:]
		if broken && ev.Status != engine.StatusFlushed {
			return fmt.Errorf("request %d completes %s after an error, want %s", ev.ID, ev.Status, engine.StatusFlushed)
		}
		broken = ev.Status != engine.StatusSuccess
	}
	if len(posted) > 0 {
		return fmt.Errorf("%d requests never complete, the first is %d", len(posted), posted[0].ID)
	}
	return nil
}

// maxWaste bounds the packets of a run over a wire with a loss rate of 5 %, as a multiple of the packets of the work
// and of their responses. Go-back-N, which repeats a whole window per loss, needs about two.
const maxWaste = 10

// checkBounded requires a bounded number of packets: at most two per packet of the work on a perfect wire, and a
// multiple of that on a bad one.
func checkBounded(impl engine.Implementation, opts Options) error {
	for _, c := range []struct {
		loss float64
		most int
	}{{0, 1}, {0.05, maxWaste}} {
		need := 0
		d, err := transfer(impl, opts, 0, func(d *pair) {
			for _, wr := range d.posts {
				need += 2*d.ends[0].qp.Packets(wr.Len) + 2
			}
			d.fate = noise(3, c.loss, c.loss, c.loss)
		})
		if err != nil {
			return err
		}
		if d.sent > c.most*need {
			return fmt.Errorf("%d packets with loss %g for work that needs %d: want at most %d times as many", d.sent,
				c.loss, need, c.most)
		}
	}
	return nil
}

// checkAllocations requires that the steady state allocates nothing, from Post to completion, including the reading of
// variables.
func checkAllocations(impl engine.Implementation, opts Options) error {
	for _, op := range opts.ops() {
		x, err := newExchange(impl, opts, op)
		if err != nil {
			return err
		}
		for range 200 {
			x.once()
		}
		if n := testing.AllocsPerRun(100, x.once); n != 0 {
			return fmt.Errorf("%s of %d bytes: %v allocations each, want none", op, x.wr.Len, n)
		}
		if x.completed == 0 || x.completed != x.posted {
			return fmt.Errorf("%s: %d of %d requests completed", op, x.completed, x.posted)
		}
	}
	return nil
}

// exchange executes one work request at a time between two ends without a wire.
type exchange struct {
	d                 *pair
	wr                engine.WorkRequest
	rr                engine.ReceiveRequest
	p                 roce.Packet
	vars              []engine.Var
	posted, completed int
}

func newExchange(impl engine.Implementation, opts Options, op engine.Op) (*exchange, error) {
	d, err := newPair(impl, opts, starts[2])
	if err != nil {
		return nil, err
	}
	wr := mixed([]engine.Op{op}, d.ends[0].qp.MTU, 7)[6]
	// Invalidation changes the host for good and cannot be repeated; a plain SEND takes otherwise the same path.
	if op == engine.OpSendInv {
		wr.Op = engine.OpSend
	}
	wr.Unsignal = false
	if err := d.load([]engine.WorkRequest{wr, wr, wr, wr, wr, wr, wr}); err != nil {
		return nil, err
	}
	return &exchange{d: d, wr: wr, rr: engine.ReceiveRequest{VA: receiveBase, Len: uint32(d.slot())}}, nil
}

// once posts the request and passes packets until there are none.
func (x *exchange) once() {
	d := x.d
	if x.d.ends[0].req.Post(d.now, x.wr) == nil {
		x.posted++
	}
	if consumes(x.wr.Op) {
		d.ends[1].resp.PostReceive(d.now, x.rr) //nolint:errcheck // an error shows as a request that does not complete
	}
	for x.carry(0, 1) || x.carry(1, 0) || x.wake() {
	}
}

// carry passes every packet of one end to the other and reports whether there was one.
func (x *exchange) carry(from, to int) (any bool) {
	src, dst := x.d.ends[from], x.d.ends[to]
	for src.resp.PollTransmit(x.d.now, &x.p) || src.req.PollTransmit(x.d.now, &x.p) {
		any = true
		if x.p.ToRequester() {
			dst.req.HandlePacket(x.d.now, &x.p)
		} else {
			dst.resp.HandlePacket(x.d.now, &x.p)
		}
		x.drain(src)
		x.drain(dst)
	}
	return any
}

// wake moves time to a timer that the exchange waits for, such as that of a coalesced ACK.
func (x *exchange) wake() bool {
	x.d.now = x.d.now.Add(gap)
	if x.completed == x.posted {
		return false
	}
	next := vtime.Never
	for _, e := range x.d.ends {
		next = min(next, deadline(e.req), deadline(e.resp))
	}
	if next == vtime.Never {
		return false
	}
	x.d.now = max(x.d.now, next)
	for _, e := range x.d.ends {
		e.req.HandleTimer(x.d.now)
		e.resp.HandleTimer(x.d.now)
	}
	return true
}

func (x *exchange) drain(e *end) {
	for ev, ok := e.req.PollEvent(); ok; ev, ok = e.req.PollEvent() {
		if ev.Kind == engine.CQE && ev.Status == engine.StatusSuccess {
			x.completed++
		}
	}
	for _, ok := e.resp.PollEvent(); ok; _, ok = e.resp.PollEvent() {
	}
	x.vars = inspect(e.resp, inspect(e.req, x.vars[:0]))
}
