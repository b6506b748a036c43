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
// A packet is handled by its PSN: the expected packet is executed (execute.go), an earlier one is answered again
// (replay.go), a later one is dropped. There is no queue of response packets. The state of the responses is one pending
// ACK, the streams of READ responses, and one NAK (acknowledge.go, replay.go), and PollTransmit builds the first packet
// in PSN order. The memory of the responder is therefore bounded for any input.
//
// As in the Requester, the fields used for every packet come first.
type Responder struct {
	state    rc.State
	epsn     psn.PSN // expected PSN: the PSN executed next
	msn      psn.MSN // requests completed
	sentMSN  psn.MSN // newest MSN sent; never decreases
	accepted uint64  // PSNs executed: the distance of epsn from qp.RecvPSN, without wrap
	gap      gap
	nak      pendingNAK
	mem      engine.Memory
	access   engine.Access // qp.Access
	coalesce int           // qp.AckCoalesce
	ack      pendingACK
	events   ring.Ring[engine.Event]
	inbox    rc.Inbox
	qp       engine.QP

	replay replayRing
	cfg    config

	duplicates int64   // packets with a PSN before epsn
	early      int64   // packets with a PSN after epsn
	ignored    int64   // packets that are not requests, or arrived in the error state
	word       [8]byte // buffer for the new value of an atomic, in memory's byte order
}

// gap records the NAK sent while epsn is missing. Executing a packet resets it to zero.
type gap struct {
	answered bool       // a NAK was queued; there is one per gap (IBTA 9.7.5.2)
	sequence bool       // that NAK was a sequence NAK, not an RNR NAK
	at       vtime.Time // time when that NAK was queued
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

// HandlePacket implements engine.Engine. The PSN is checked first (IBTA 9.7.5.2, soft-RoCE's order).
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

// handleEarly drops an out-of-order packet; its data is not kept (GBN-DRP-001). The first packet after a gap draws a
// NAK with the missing PSN. Further packets draw none until the missing packet has arrived (IBTA 9.7.5.2; GBN-NAK-001
// to 003), because the rest of the window is in flight and each packet would draw one. With nack_interval the NAK
// repeats (GBN-NAK-004).
func (r *Responder) handleEarly(now vtime.Time) {
	r.early++
	repeat := r.gap.sequence && r.cfg.nackInterval > 0 && now.Sub(r.gap.at) >= r.cfg.nackInterval
	if r.gap.answered && !repeat {
		return
	}
	r.gap = gap{answered: true, sequence: true, at: now}
	r.queueNAK(roce.SyndromePSNSeqErr)
}

// handleDuplicate answers a packet that was executed before, and does not execute it again: SEND and WRITE with an ACK
// of the newest executed PSN (C9-105), READ and atomic from the replay ring. back is the distance of the packet behind
// epsn in PSNs. Each duplicate is answered, with or without AckReq: its requester missed the first answer
// (GBN-DUP-001).
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

// PollTransmit implements engine.Engine. Responses are sent in the order of the requests' PSNs (C9-110): an ACK waits
// for the READ responses before it, and a NAK, which carries epsn, is last.
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

// HandleTimer implements engine.Engine; the responder's only timer delays a coalesced ACK.
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

// Flush implements engine.Engine. If this half has rejected a request, its NAK is still sent.
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
