package irn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// Requester turns work requests into request packets, and takes READ responses.
//
// It is the sending side for requests (out, sPSN) and the receiving side for READ responses (in, rPSN). What every packet needs
// comes first, as in package gbn.
type Requester struct {
	failed bool // error state: silent for ever
	retry  retry
	wire   *Wire
	mem    engine.Memory
	sq     sendQueue
	out    sender
	say    answers // about READ responses
	events ring.Ring[engine.Event]
	qp     engine.QP
	in     receiver
	doom   doom
	word   [8]byte // what an atomic found, on its way to memory

	ignored int64 // responses that fit nothing outstanding
}

// doom is a request that the peer has refused. It fails in its turn: READs before it may still get their data.
type doom struct {
	set    bool
	psn    psn.PSN
	status engine.Status
}

func newRequester(qp engine.QP, cfg *Config, w *Wire, mem engine.Memory) *Requester {
	return &Requester{
		wire: w, qp: qp, mem: mem,
		sq:    sendQueue{readPSN: qp.SendPSN},
		out:   newSender(cfg, qp.SendPSN),
		in:    newReceiver(cfg, qp.SendPSN),
		say:   answers{limit: cfg.Cap},
		retry: retry{left: qp.RetryCount, rnrLeft: qp.RNRRetry},
	}
}

// Post implements engine.Requester. The request gets its PSNs when its first packet is made.
func (r *Requester) Post(_ vtime.Time, wr engine.WorkRequest) error {
	if r.failed {
		return engine.ErrQPState
	}
	packets, err := r.wire.admit(&r.qp, &wr)
	if err != nil {
		return err
	}
	if r.sq.Len() == r.qp.QueueDepth {
		return engine.ErrQueueFull
	}
	r.sq.Push(wqe{WorkRequest: wr, packets: packets})
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

// PollTransmit implements engine.Engine: answers first, because the peer waits for them; then what is to be sent again, and
// then what is new.
func (r *Requester) PollTransmit(now vtime.Time, p *roce.Packet) bool {
	if r.failed {
		return false
	}
	if x, ok := r.say.queue.Pop(); ok {
		*p = x.readPacket(r.wire, &r.qp)
		return true
	}
	switch {
	case now < r.retry.until:
		return false
	case r.out.doRetransmit:
		at := r.out.retransmit()
		r.build(p, r.sq.owner(at), at)
		if at == r.out.una {
			r.out.rto.restart(now) // from here on it is this copy whose answer is awaited
		}
	case r.retry.ask && r.asked() != nil:
		r.retry.ask = false
		w := r.asked()
		r.build(p, w, w.first)
	case r.mayTransmit():
		w := r.sq.At(r.sq.begun - 1)
		r.sq.pkt++
		r.build(p, w, r.out.sent())
	default:
		return false
	}
	r.out.rto.start(now)
	return true
}

// asked returns the READ or atomic whose data is awaited next, or nil.
func (r *Requester) asked() *wqe { return r.sq.fetch(r.in.expected) }

// mayTransmit reports whether a new packet can go, and gives the next request its PSNs when its turn has come.
func (r *Requester) mayTransmit() bool {
	if !r.out.room() || r.doom.set {
		return false
	}
	if r.sq.begun > 0 && r.sq.pkt < r.sq.At(r.sq.begun-1).psns() {
		return true
	}
	if !r.sq.mayBegin(r.qp.MaxRdAtomic, r.in.expected) {
		return false
	}
	r.sq.begin(r.out.next)
	return true
}

// PollEvent implements engine.Engine.
func (r *Requester) PollEvent() (engine.Event, bool) { return r.events.Pop() }

// Flush implements engine.Engine: what is left completes in order.
func (r *Requester) Flush(vtime.Time) {
	r.failed = true
	r.out.rto.stop()
	r.retry = retry{}
	// Requests that never began are given the PSNs they would have had, so that their completions are in order too.
	for next := r.out.next; r.sq.Len() > 0; {
		if r.sq.begun == 0 {
			r.sq.begin(next)
		}
		next = psn.Max(next, r.sq.At(0).last.Next())
		r.complete(engine.StatusFlushed)
	}
}

// complete ends the oldest request. Errors are signalled even when the request asked for silence (IBTA 10.7.3).
func (r *Requester) complete(s engine.Status) {
	w := r.sq.At(0)
	if !w.Unsignal || s != engine.StatusSuccess {
		r.events.Push(engine.Event{Kind: engine.CQE, Status: s, Op: w.Op, ID: w.ID, PSN: w.last})
	}
	r.sq.finish()
}

// fail ends the oldest request with an error and flushes the others (IBTA 10.3.1).
func (r *Requester) fail(now vtime.Time, s engine.Status) {
	r.complete(s)
	r.events.Push(engine.Event{Kind: engine.Fatal, Status: s, PSN: r.out.una})
	r.Flush(now)
}

var (
	_ engine.Requester = (*Requester)(nil)
	_ engine.Inspector = (*Requester)(nil)
)
