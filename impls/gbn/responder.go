package gbn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/timer"
)

// Responder executes requests in PSN order and answers them in PSN order.
//
// A packet is judged by its PSN: the expected one is executed (execute.go), an earlier one is answered again
// (replay.go), a later one is dropped. Answers are not a queue of packets but three small facts, namely an ACK that is
// pending, streams of READ responses, and a NAK (acknowledge.go, replay.go); PollTransmit makes the packet that comes
// first. No input can therefore make the responder grow.
//
// As in the Requester, what every packet needs comes first.
type Responder struct {
	state    rc.State
	epsn     psn.PSN // the PSN that is executed next
	msn      psn.MSN // requests completed
	sentMSN  psn.MSN // newest MSN on the wire
	accepted uint64  // PSNs executed so far: the distance of epsn from the first, without wrap
	gap      gap
	nak      pendingNAK
	mem      engine.Memory
	access   engine.Access // of qp
	coalesce int           // qp.AckCoalesce
	ack      pendingACK
	events   ring.Ring[engine.Event]
	inbox    rc.Inbox
	qp       engine.QP

	replay replayRing
	cfg    config

	duplicates, early, ignored int64   // packets before epsn, after it, and of no use
	word                       [8]byte // the new value of an atomic on its way to memory
}

// gap says what was done about packets that came before their turn. It ends when epsn arrives.
type gap struct {
	answered bool       // a NAK was queued; there is one per gap (IBTA 9.7.5.2)
	sequence bool       // it was a sequence NAK, not an RNR NAK
	at       vtime.Time // when
}

func newResponder(qp engine.QP, cfg config, mem engine.Memory) *Responder {
	return &Responder{qp: qp, cfg: cfg, mem: mem, epsn: qp.RecvPSN, access: qp.Access, coalesce: qp.AckCoalesce,
		ack: pendingACK{timer: timer.Timer{Period: cfg.ackDelay}}}
}

// PostReceive implements engine.Responder.
func (r *Responder) PostReceive(_ vtime.Time, rr engine.ReceiveRequest) error {
	if r.state != rc.Ready {
		return engine.ErrQPState
	}
	return r.inbox.Post(rr, &r.qp)
}

// HandlePacket implements engine.Engine. The PSN is judged before anything else (IBTA 9.7.5.2, soft-RoCE's order).
func (r *Responder) HandlePacket(now vtime.Time, p *roce.Packet) {
	s := rc.ShapeOf(p.Opcode)
	if r.state != rc.Ready || s.Kind == rc.None {
		r.ignored++
		return
	}
	switch d := p.PSN.Sub(r.epsn); {
	case d == 0:
		r.accept(now, p, s)
	case d > 0:
		r.handleEarly(now)
	default:
		r.handleDuplicate(p, s, uint64(-d))
	}
}

// handleEarly drops a packet that came before its turn: its data is not kept (GBN-DRP-001). The first of a gap draws a
// NAK with the PSN that is missing; the others draw none until it has arrived (IBTA 9.7.5.2; GBN-NAK-001 to 003),
// because the whole rest of the window is on its way and would draw one each. With nack_interval the NAK repeats
// (GBN-NAK-004).
func (r *Responder) handleEarly(now vtime.Time) {
	r.early++
	repeat := r.gap.sequence && r.cfg.nackInterval > 0 && now.Sub(r.gap.at) >= r.cfg.nackInterval
	if r.gap.answered && !repeat {
		return
	}
	r.gap = gap{answered: true, sequence: true, at: now}
	r.queueNAK(roce.SyndromePSNSeqErr)
}

// handleDuplicate answers a packet that was executed before and executes nothing: SEND and WRITE with an ACK of the
// newest completed PSN (C9-105), READ and atomic from what is remembered. back is the distance behind epsn. Each
// duplicate is answered, asked or not: the requester that sends it has lost the first answer (GBN-DUP-001).
func (r *Responder) handleDuplicate(p *roce.Packet, s *rc.Shape, back uint64) {
	r.duplicates++
	switch s.Kind {
	case rc.Read:
		r.replayRead(p, back)
	case rc.Atomic:
		r.replayAtomic(p, back)
	default:
		r.ack.now(r.epsn.Prev(), r.msn)
	}
}

// PollTransmit implements engine.Engine. Responses go out in the order of the requests' PSNs (C9-110): an ACK waits for
// the READ responses before it, and a NAK, which is about epsn, comes last.
func (r *Responder) PollTransmit(_ vtime.Time, p *roce.Packet) bool {
	if r.state == rc.Flushed {
		return false
	}
	res := r.replay.next()
	switch {
	case r.ack.due && (res == nil || r.ack.psn.Less(res.nextPSN())):
		r.sendACK(p)
	case res != nil:
		r.sendResponse(p, res)
	case r.nak.queued:
		r.sendNAK(p)
	default:
		return false
	}
	return true
}

// HandleTimer implements engine.Engine; the responder's only timer is that of a coalesced ACK.
func (r *Responder) HandleTimer(now vtime.Time) {
	if r.ack.timer.Expire(now) {
		r.ack.due = true
	}
}

// PollTimer implements engine.Engine.
func (r *Responder) PollTimer() (vtime.Time, bool) {
	return r.ack.timer.Deadline(), r.ack.timer.Running()
}

// PollEvent implements engine.Engine.
func (r *Responder) PollEvent() (engine.Event, bool) { return r.events.Pop() }

// Flush implements engine.Engine. When this half failed by itself, its NAK, which tells the peer, still goes out.
func (r *Responder) Flush(vtime.Time) {
	if r.state == rc.Rejected {
		return
	}
	r.state = rc.Flushed
	r.ack.timer.Stop()
	r.inbox.EndMessage(engine.StatusFlushed, r.epsn, &r.events)
	r.inbox.Flush(r.epsn, &r.events)
}

// Vars implements engine.Inspector.
func (r *Responder) Vars(list []engine.Var) []engine.Var {
	return append(list,
		engine.Var{Name: "epsn", Value: int64(r.epsn), IsPSN: true},
		engine.Var{Name: "msn", Value: int64(r.msn)},
		engine.Var{Name: "nak_sent", Value: engine.Flag(r.gap.answered)},
		engine.Var{Name: "receives", Value: int64(r.inbox.Receives())},
		engine.Var{Name: "remembered", Value: int64(r.replay.Len())},
		engine.Var{Name: "failed", Value: engine.Flag(r.state != rc.Ready)},
		engine.Var{Name: "duplicates", Value: r.duplicates},
		engine.Var{Name: "early", Value: r.early},
		engine.Var{Name: "ignored", Value: r.ignored})
}

var (
	_ engine.Responder = (*Responder)(nil)
	_ engine.Inspector = (*Responder)(nil)
)
