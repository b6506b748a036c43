package irn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// Responder executes requests and sends READ responses.
//
// It is the receiving side for requests (in, sPSN) and the sending side for READ responses (out, rPSN). An out-of-order
// packet is placed in memory at once if it carries its complete address (place.go), and otherwise held until it is
// expected. Completions and the MSN follow in PSN order (execute.go).
//
// The fields used for every packet come first, as in package gbn.
type Responder struct {
	state    rc.State
	msn      psn.MSN // requests completed
	recvSN   uint32  // recv_WQE_SN of the oldest receive in receives; modulo 2^24
	wire     *Wire
	mem      engine.Memory
	in       receiver
	msg      message
	answers  answers // ACKs, NACKs and NAKs of requests to be sent
	events   ring.Ring[engine.Event]
	qp       engine.QP
	hold     hold
	fetches  rc.Fetches // READs and atomics with unacknowledged responses, by read_WQE_SN
	out      sender
	receives ring.Ring[receive] // posted receives, oldest first
	parked   int                // receives with done set; 0 <= parked <= receives.Len()
	left     uint8              // retries left for timeouts of READ responses; at most RetryCount
	word     [8]byte            // buffer for the new value of an atomic, in memory's byte order

	duplicates int64 // requests with a PSN before the expected one
	dropped    int64 // out-of-order requests that could not be placed
	ignored    int64 // packets of another kind, for another state, or outside the window
	timeouts   int64 // timeouts of READ responses
}

// receive is a posted receive. If the last packet of its message was placed early, its completion is parked here until
// all earlier messages are complete: a premature CQE (IRN 5.3).
type receive struct {
	engine.ReceiveRequest
	done bool         // cqe is set
	cqe  engine.Event // completion; its Len is that of the last packet until pass adds the others
}

func newResponder(qp engine.QP, cfg *Config, w *Wire, mem engine.Memory) *Responder {
	return &Responder{
		wire: w, qp: qp, mem: mem,
		in:      newReceiver(cfg, qp.RecvPSN),
		out:     newSender(cfg, qp.RecvPSN),
		answers: answers{limit: cfg.Cap},
		hold:    hold{reach: cfg.Cap},
		fetches: rc.NewFetches(qp.RecvPSN),
		left:    qp.RetryCount,
	}
}

// PostReceive implements engine.Responder.
func (r *Responder) PostReceive(_ vtime.Time, rr engine.ReceiveRequest) error {
	switch {
	case r.state != rc.Ready:
		return engine.ErrQPState
	case r.receives.Len() >= r.qp.ReceiveDepth:
		return engine.ErrQueueFull
	}
	r.receives.Push(receive{ReceiveRequest: rr})
	return nil
}

// HandlePacket implements engine.Engine.
func (r *Responder) HandlePacket(now vtime.Time, p *roce.Packet) {
	s := r.wire.shapeOf(p.Opcode)
	switch {
	case p.Opcode == r.wire.ReadAck && r.state != rc.Flushed:
		r.handleReadAck(now, p)
	case r.state != rc.Ready || s.Kind == rc.None || s.Op == engine.OpSendInv:
		r.ignored++
	default:
		r.handleRequest(p, s)
	}
}

// handleRequest processes a request by its PSN. A packet in order is answered by an ACK, an out-of-order packet that is
// taken by a NACK, and a duplicate by an ACK up to the expected PSN (IRN 3.1).
func (r *Responder) handleRequest(p *roce.Packet, s *rc.Shape) {
	switch what := r.in.arrive(p.PSN); what {
	case inOrder:
		r.take(p, s)
	case early:
		// A packet that would be refused in order is not placed early either: it stays missing, is retransmitted, and
		// is checked then. The same holds for a SEND without a receive, which draws an RNR NAK only in order.
		if !r.placeEarly(p, s) {
			r.dropped++
			return
		}
		r.in.record(p.PSN, codeOf(s))
		r.answers.nack(r.in.expected, p.PSN, r.msn)
	case repeated:
		r.answers.nack(r.in.expected, p.PSN, r.msn)
	case old:
		r.duplicates++
		r.answers.ack(r.in.expected, r.msn)
		if s.Kind >= rc.Read {
			r.revive()
		}
	case beyond:
		r.ignored++
	}
}

// take executes the expected packet, and then the recorded packets that follow it without a gap.
func (r *Responder) take(p *roce.Packet, s *rc.Shape) {
	r.hold.drop(p.PSN) // a held copy that could not be executed
	if !r.accept(p, s) || !r.pass(codeOf(s)) {
		return
	}
	for c := r.in.code(r.in.expected); c != absent; c = r.in.code(r.in.expected) {
		if kept := r.hold.find(r.in.expected); kept != nil {
			if !r.accept(kept, r.wire.shapeOf(kept.Opcode)) {
				return
			}
			r.hold.drop(r.in.expected)
		} else {
			r.msg.advance(r.qp.MTU)
		}
		if !r.pass(c) {
			return
		}
	}
	r.answers.ack(r.in.expected, r.msn)
}

// PollTransmit implements engine.Engine: answers first, then retransmitted READ responses, then new ones.
func (r *Responder) PollTransmit(now vtime.Time, p *roce.Packet) bool {
	if r.state == rc.Flushed {
		return false
	}
	if x, ok := r.answers.queue.Pop(); ok {
		*p = x.packet(r.wire, &r.qp)
		return true
	}
	return r.transmitRead(now, p)
}

// HandleTimer implements engine.Engine; the responder's only timer is the RTO of READ responses.
func (r *Responder) HandleTimer(now vtime.Time) {
	if r.out.rto.expired(now, r.out.inFlight()) {
		r.handleTimeout()
	}
}

// PollTimer implements engine.Engine.
func (r *Responder) PollTimer() (vtime.Time, bool) {
	at := r.out.rto.deadline()
	return at, at != vtime.Never
}

// PollEvent implements engine.Engine.
func (r *Responder) PollEvent() (engine.Event, bool) { return r.events.Pop() }

// Flush implements engine.Engine. If this half has rejected a request, its NAK is still sent.
func (r *Responder) Flush(vtime.Time) {
	if r.state == rc.Rejected {
		return
	}
	r.state = rc.Flushed
	r.out.rto.stop()
	r.flushReceives(engine.StatusFlushed)
}

// flushReceives completes all posted receives with StatusFlushed (IBTA 10.3.1). If a SEND was being placed, its
// receive, the oldest, completes with s instead.
func (r *Responder) flushReceives(s engine.Status) {
	if r.msg.kind != rc.Send {
		s = engine.StatusFlushed
	}
	for rr, ok := r.receives.Pop(); ok; rr, ok = r.receives.Pop() {
		r.events.Push(
			engine.Event{Kind: engine.ReceiveCQE, Status: s, Op: engine.OpSend, ID: rr.ID, PSN: r.in.expected})
		s = engine.StatusFlushed
	}
	r.msg, r.parked = message{}, 0
}

var (
	_ engine.Responder = (*Responder)(nil)
	_ engine.Inspector = (*Responder)(nil)
)
