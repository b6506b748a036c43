package fasr

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/timer"
)

// Responder executes requests in PSN order, for any order of arrival, and sends READ responses.
//
// It is the receiving side for requests (in) and the sending side for READ responses (out). An out-of-order packet
// waits in the reorder store, and is checked and executed after all earlier packets.
//
// The fields used for every packet come first, as in package gbn.
type Responder struct {
	state    rc.State
	notReady bool    // an RNR NAK of packet waits was sent, and that packet has not been executed since
	waits    psn.PSN // PSN of the packet that lacks a receive; meaningful while notReady
	msn      psn.MSN // requests completed
	seq      uint32  // receives used, modulo 2^24: the number that the next SEND must carry
	in       receiver
	inbox    rc.Inbox
	mem      engine.Memory
	store    store
	timer    timer.Timer // the RTO of READ responses
	say      answers     // answers to requests to be sent
	events   ring.Ring[engine.Event]
	qp       engine.QP
	out      sender
	nic      *nic
	reads    rc.Fetches
	left     uint8 // retries left for timeouts of READ responses; at most RetryCount

	duplicates int64 // requests with a PSN before RCV-NXT
	refused    int64 // requests dropped and answered with an FNACK
	ignored    int64 // packets of another kind, for another state, outside the window, or dropped in an RNR wait
	timeouts   int64 // timeouts of READ responses
}

func newResponder(qp engine.QP, q *nic, mem engine.Memory) *Responder {
	return &Responder{
		qp: qp, mem: mem, nic: q,
		in:    q.newReceiver(requestReceiver, qp.RecvPSN),
		out:   q.newSender(responseSender, qp.RecvPSN),
		store: q.newStore(),
		say:   q.newAnswers(),
		reads: rc.NewFetches(qp.RecvPSN),
		timer: timer.Timer{Period: qp.RTO},
		left:  qp.RetryCount,
	}
}

// PostReceive implements engine.Responder.
func (r *Responder) PostReceive(_ vtime.Time, rr engine.ReceiveRequest) error {
	if r.state != rc.Ready {
		return engine.ErrQPState
	}
	return r.inbox.Post(rr, &r.qp)
}

// HandlePacket implements engine.Engine.
func (r *Responder) HandlePacket(now vtime.Time, p *roce.Packet) {
	s := shapeOf(p.Opcode)
	switch {
	case p.Opcode == roce.FaSRReadAck && r.state != rc.Flushed:
		r.handleReadAnswer(now, p)
	case r.state != rc.Ready || s.Kind == rc.None || s.Op == engine.OpSendInv:
		r.ignored++
	case r.notReady && p.PSN != r.waits:
		r.storeUnanswered(p)
	case r.notReady && p.PSN != r.in.next:
		r.takeKept(true)
	default:
		r.handleRequest(now, p, s)
	}
}

// storeUnanswered processes a packet that arrives during an RNR wait. The packet is not answered, because the requester
// retransmits it after the wait in any case. It is stored if it is after all packets in the store.
func (r *Responder) storeUnanswered(p *roce.Packet) {
	if r.in.arrive(p.PSN) == recorded {
		r.store.put(p)
		return
	}
	r.ignored++
}

// handleRequest processes a request by its PSN.
func (r *Responder) handleRequest(now vtime.Time, p *roce.Packet, s *rc.Shape) {
	what := r.in.arrive(p.PSN)
	switch what {
	case inOrder:
		r.takeRequest(now, p, s)
		return
	case recorded:
		r.store.put(p)
	case refused:
		r.refused++
	case old:
		r.duplicates++
		if s.Kind == rc.Read {
			r.revive()
		}
	case beyond:
		r.ignored++
	}
	r.say.respond(&r.in, what, p.PSN, r.msn)
}

// takeRequest executes the packet with PSN RCV-NXT, and the stored packets that follow it without a gap.
func (r *Responder) takeRequest(now vtime.Time, p *roce.Packet, s *rc.Shape) {
	if !r.accept(p, s) {
		return
	}
	recovering := r.in.sr != nil || r.in.fallback
	r.in.fill()
	// "The updated RCV-NXT is then sent back to the sender through an ACK (AACK)" (FaSR III-B1), asked for or not.
	if r.takeKept(recovering) && !recovering && p.AckReq {
		r.say.ack(now, &r.in, r.msn, r.qp.AckCoalesce)
	}
}

// takeKept executes the stored packets before RCV-NXT, in order, and queues an ACK if answer is true. It reports false
// if a packet cannot be executed: that packet is answered with a NAK, and stays in the store with all later packets.
func (r *Responder) takeKept(answer bool) bool {
	for kept := r.store.before(r.in.next); kept != nil; kept = r.store.before(r.in.next) {
		if !r.accept(kept, shapeOf(kept.Opcode)) {
			return false
		}
		r.store.drop()
	}
	r.notReady = false
	if answer {
		r.say.ackNow(&r.in, r.msn)
	}
	return true
}

// PollTransmit implements engine.Engine: answers first, then retransmitted READ responses, then new ones.
func (r *Responder) PollTransmit(now vtime.Time, p *roce.Packet) bool {
	if r.state == rc.Flushed {
		return false
	}
	if x, ok := r.say.queue.Pop(); ok {
		*p = x.packet(&r.qp)
		return true
	}
	again := r.out.retx.Len() > 0
	if !r.transmitRead(p) {
		return false
	}
	if again || p.AckReq {
		r.timer.Start(now)
	}
	return true
}

// Urgent implements engine.Urgent, as the requester does.
func (r *Responder) Urgent() bool { return r.state != rc.Flushed && r.out.retx.Len() > 0 }

// HandleTimer implements engine.Engine.
func (r *Responder) HandleTimer(now vtime.Time) {
	if r.say.timer.Expire(now) {
		r.say.ackNow(&r.in, r.msn)
	}
	if r.timer.Expire(now) {
		r.handleTimeout()
	}
}

// PollTimer implements engine.Engine.
func (r *Responder) PollTimer() (vtime.Time, bool) {
	at := min(r.say.timer.Deadline(), r.timer.Deadline())
	return at, at != vtime.Never
}

// PollEvent implements engine.Engine.
func (r *Responder) PollEvent() (engine.Event, bool) { return r.events.Pop() }

// Flush implements engine.Engine. If this half has rejected a request, its NAK is still sent.
func (r *Responder) Flush(vtime.Time) {
	r.clear()
	if r.state == rc.Rejected {
		return
	}
	r.state = rc.Flushed
	r.say.clear()
	r.timer.Stop()
	r.reads.Clear()
	if r.out.sr != nil {
		r.out.leave()
	}
	r.inbox.EndMessage(engine.StatusFlushed, r.in.next, &r.events)
	r.inbox.Flush(r.in.next, &r.events)
}

// clear returns the stored packets and the state of the receiver to the host.
func (r *Responder) clear() {
	r.store.clear()
	if r.in.sr != nil {
		r.in.leave()
	}
}

// Vars implements engine.Inspector: the receiver's names as in the paper, "rd_" for the READ responses, and the pool.
func (r *Responder) Vars(list []engine.Var) []engine.Var {
	list = append(list, engine.Var{Name: "rcv_nxt", Value: int64(r.in.next), IsPSN: true})
	list = rcvNames.Rename(r.in.vars(list))
	list = append(list,
		engine.Var{Name: "msn", Value: int64(r.msn)},
		engine.Var{Name: "kept", Value: int64(r.store.n)},
		engine.Var{Name: "rd_unack", Value: int64(r.out.unack), IsPSN: true})
	list = rdSndNames.Rename(r.out.vars(list))
	list = append(list,
		engine.Var{Name: "receives", Value: int64(r.inbox.Receives())},
		engine.Var{Name: "duplicates", Value: r.duplicates},
		engine.Var{Name: "refused", Value: r.refused},
		engine.Var{Name: "rd_timeouts", Value: r.timeouts},
		engine.Var{Name: "failed", Value: engine.Flag(r.state != rc.Ready)})
	return r.nic.host.Vars(list)
}

var (
	_ engine.Responder = (*Responder)(nil)
	_ engine.Inspector = (*Responder)(nil)
	_ engine.Urgent    = (*Responder)(nil)
)
