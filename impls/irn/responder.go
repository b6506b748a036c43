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
// It is the receiving side for requests (in, sPSN) and the sending side for READ responses (out, rPSN). A packet that
// comes early is placed in memory at once when it says where it goes (place.go), and otherwise kept until its turn;
// what the application sees, and the MSN, follow in order (execute.go).
//
// What every packet needs comes first, as in package gbn.
type Responder struct {
	state    rc.State
	msn      psn.MSN // requests completed
	recvSN   uint32  // recv_WQE_SN of the oldest receive
	wire     *Wire
	mem      engine.Memory
	in       receiver
	msg      message
	say      answers // about requests
	events   ring.Ring[engine.Event]
	qp       engine.QP
	hold     hold
	fetches  rc.Fetches // by read_WQE_SN
	out      sender
	receives ring.Ring[receive]
	parked   int     // receives that are complete before their turn
	left     uint8   // timeouts of READ responses that may still come before they are given up
	word     [8]byte // the new value of an atomic on its way to memory

	duplicates, dropped, ignored, timeouts int64
}

// receive is a posted receive. Its completion is parked here when the last packet of its message came early, until the
// messages before are complete: a premature CQE (IRN 5.3).
type receive struct {
	engine.ReceiveRequest
	done bool
	cqe  engine.Event // Len is that of the last packet
}

func newResponder(qp engine.QP, cfg *Config, w *Wire, mem engine.Memory) *Responder {
	return &Responder{
		wire: w, qp: qp, mem: mem,
		in:      newReceiver(cfg, qp.RecvPSN),
		out:     newSender(cfg, qp.RecvPSN),
		say:     answers{limit: cfg.Cap},
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

// handleRequest takes a request by its PSN. Every arrival is answered: in order by an ACK, early by a NACK, and a
// duplicate by an ACK of what is expected (IRN 3.1).
func (r *Responder) handleRequest(p *roce.Packet, s *rc.Shape) {
	switch what := r.in.arrive(p.PSN); what {
	case inOrder:
		r.take(p, s)
	case early:
		// What would not be fine in its turn is not taken out of turn either: it stays missing, comes again, and is
		// judged then. That holds for a SEND without a receive, too, which draws an RNR NAK only in order.
		if !r.placeEarly(p, s) {
			r.dropped++
			return
		}
		r.in.record(p.PSN, codeOf(s))
		r.say.nack(r.in.expected, p.PSN, r.msn)
	case repeated:
		r.say.nack(r.in.expected, p.PSN, r.msn)
	case old:
		r.duplicates++
		r.say.ack(r.in.expected, r.msn)
		if s.Kind >= rc.Read {
			r.revive()
		}
	case beyond:
		r.ignored++
	}
}

// take executes the expected packet, and then whatever came early behind it.
func (r *Responder) take(p *roce.Packet, s *rc.Shape) {
	r.hold.drop(p.PSN) // a copy that was kept and could not be executed
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
	r.say.ack(r.in.expected, r.msn)
}

// PollTransmit implements engine.Engine: answers first, then READ responses to be sent again, then new ones.
func (r *Responder) PollTransmit(now vtime.Time, p *roce.Packet) bool {
	if r.state == rc.Flushed {
		return false
	}
	if x, ok := r.say.queue.Pop(); ok {
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

// Flush implements engine.Engine. When this half failed by itself, its NAK, which tells the peer, still goes out.
func (r *Responder) Flush(vtime.Time) {
	if r.state == rc.Rejected {
		return
	}
	r.state = rc.Flushed
	r.out.rto.stop()
	r.flushReceives(engine.StatusFlushed)
}

// flushReceives completes what is posted and not completed (IBTA 10.3.1). When a SEND was being placed its receive, the
// oldest, completes with s.
func (r *Responder) flushReceives(s engine.Status) {
	if r.msg.kind != rc.Send {
		s = engine.StatusFlushed
	}
	for rr, ok := r.receives.Pop(); ok; rr, ok = r.receives.Pop() {
		r.events.Push(engine.Event{Kind: engine.ReceiveCQE, Status: s, Op: engine.OpSend, ID: rr.ID,
			PSN: r.in.expected})
		s = engine.StatusFlushed
	}
	r.msg, r.parked = message{}, 0
}

var (
	_ engine.Responder = (*Responder)(nil)
	_ engine.Inspector = (*Responder)(nil)
)
