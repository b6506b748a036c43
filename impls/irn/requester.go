package irn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// Requester turns work requests into request packets, and processes READ responses.
//
// It is the sending side for requests (out, sPSN) and the receiving side for READ responses (in, rPSN). The fields used
// for every packet come first, as in package gbn.
type Requester struct {
	failed  bool // error state: nothing is sent any more
	retry   retry
	wire    *Wire
	mem     engine.Memory
	sq      rc.SendQueue
	out     sender
	answers answers // READ_(N)ACKs to be sent
	events  ring.Ring[engine.Event]
	qp      engine.QP
	in      receiver
	word    [8]byte // buffer for the result of an atomic, in memory's byte order

	ignored int64 // packets dropped because they answer no outstanding request
}

func newRequester(qp engine.QP, cfg *Config, w *Wire, mem engine.Memory) *Requester {
	return &Requester{
		wire: w, qp: qp, mem: mem,
		sq:      rc.NewSendQueue(qp.SendPSN),
		out:     newSender(cfg, qp.SendPSN),
		in:      newReceiver(cfg, qp.SendPSN),
		answers: answers{limit: cfg.Cap},
		retry:   retry{Retry: rc.NewRetry(&qp)},
	}
}

// Post implements engine.Requester. PSNs are assigned when the first packet of the request is built.
func (r *Requester) Post(_ vtime.Time, wr engine.WorkRequest) error {
	if r.failed {
		return engine.ErrQPState
	}
	packets, err := r.wire.check(&r.qp, &wr)
	if err != nil {
		return err
	}
	if r.sq.Len() == r.qp.QueueDepth {
		return engine.ErrQueueFull
	}
	r.sq.Push(rc.Request{WorkRequest: wr, Packets: packets})
	return nil
}

// HandlePacket implements engine.Engine.
func (r *Requester) HandlePacket(now vtime.Time, p *roce.Packet) {
	switch {
	case r.failed:
		r.ignored++
	case p.Opcode == roce.Acknowledge || p.Opcode == r.wire.Nack:
		r.handleAnswer(now, p)
	case p.Opcode.IsReadResponse() && p.Opcode.Class() == r.wire.Base.Class():
		r.handleReadResponse(now, p)
	default:
		r.ignored++
	}
}

// PollTransmit implements engine.Engine: answers first, because the peer waits for them; then retransmissions, and then
// new packets.
func (r *Requester) PollTransmit(now vtime.Time, p *roce.Packet) bool {
	if r.failed {
		return false
	}
	if x, ok := r.answers.queue.Pop(); ok {
		*p = x.readPacket(r.wire, &r.qp)
		return true
	}
	if now < r.retry.Until || !r.transmit(now, p) {
		return false
	}
	r.out.rto.start(now)
	return true
}

// transmit fills p with the next request packet, and reports false if none can be sent.
func (r *Requester) transmit(now vtime.Time, p *roce.Packet) bool {
	switch {
	case r.out.doRetransmit:
		at := r.out.retransmit()
		r.build(p, r.sq.Owner(at), at)
		if at == r.out.una {
			r.out.rto.restart(now) // the timeout counts from the newest copy of the oldest packet
		}
		return true
	case r.retry.resendRead && r.awaitedRead() != nil:
		r.retry.resendRead = false
		w := r.awaitedRead()
		r.build(p, w, w.First)
		return true
	case !r.out.room():
		return false
	}
	w := r.sq.Next(r.out.next, r.in.expected, r.qp.MaxRdAtomic)
	if w == nil {
		return false
	}
	r.build(p, w, r.out.sent())
	return true
}

// awaitedRead returns the READ or atomic whose data is awaited next, or nil.
func (r *Requester) awaitedRead() *rc.Request { return r.sq.Fetch(r.in.expected) }

// PollEvent implements engine.Engine.
func (r *Requester) PollEvent() (engine.Event, bool) { return r.events.Pop() }

// Flush implements engine.Engine: the remaining requests complete in order.
func (r *Requester) Flush(vtime.Time) {
	r.failed = true
	r.out.rto.stop()
	r.retry = retry{}
	r.sq.Flush(r.out.next, &r.events)
}

// fail ends the oldest request with an error and flushes the others (IBTA 10.3.1).
func (r *Requester) fail(now vtime.Time, s engine.Status) {
	r.sq.Complete(s, &r.events)
	r.events.Push(engine.Event{Kind: engine.Fatal, Status: s, PSN: r.out.una})
	r.Flush(now)
}

var (
	_ engine.Requester = (*Requester)(nil)
	_ engine.Inspector = (*Requester)(nil)
)
