package writerecord

import (
	"errors"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/iwarp"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// Target is the responder for the datagrams of one peer. It never answers.
type Target struct {
	host    *Host
	qp      engine.QP
	mem     engine.Memory
	table   map[messageKey]*message
	sends   lifetimes
	records lifetimes
	fresh   chunks
	events  ring.Ring[engine.Event]
	failed  bool

	datagram iwarp.Datagram

	// Segments dropped, by reason.
	crcErrors, malformed, noReceive, refused, overflow int64
	// Messages given up: lost SENDs, each with an event, and abandoned Write-Records, without.
	lost, abandoned int64
}

// HandlePacket implements engine.Engine. The payload is a whole datagram.
func (t *Target) HandlePacket(now vtime.Time, p *roce.Packet) {
	if t.failed {
		return
	}
	t.sweep(now)
	switch err := t.datagram.Decode(p.Payload); {
	case errors.Is(err, iwarp.ErrCRC):
		t.crcErrors++
		return
	case err != nil:
		t.malformed++
		return
	}
	switch s := &t.datagram.Segment; {
	case s.DDP != iwarp.Version || s.RDMAP != iwarp.Version || s.Tagged != s.Opcode.Tagged():
		t.refuse(engine.StatusRemoteInvalid)
	case s.Opcode == iwarp.WriteRecord:
		t.record(now, s)
	case s.Opcode == iwarp.Send && s.QN == iwarp.QueueSend:
		t.receive(now, s)
	default:
		t.refuse(engine.StatusRemoteInvalid)
	}
}

// refuse drops a segment: "we don't invalidate LLP streams (or QPs) when errors occur due to data loss, they are simply
// reported" (IV-B, 2).
func (t *Target) refuse(why engine.Status) {
	t.refused++
	t.tell(engine.Event{Kind: engine.Refused, Status: why})
}

// tell reports an event with the port of the peer: "the completion queue elements need to be altered to include
// information concerning the source address and port for incoming data" (IV-B, 4).
func (t *Target) tell(ev engine.Event) {
	ev.Peer = iwarp.PortOf(t.qp.DestQPN)
	t.events.Push(ev)
}

// PostReceive implements engine.Responder.
func (t *Target) PostReceive(_ vtime.Time, rr engine.ReceiveRequest) error {
	if t.failed {
		return engine.ErrQPState
	}
	return t.host.post(rr)
}

// PollTransmit implements engine.Engine: a target sends nothing.
func (t *Target) PollTransmit(vtime.Time, *roce.Packet) bool { return false }

// PollEvent implements engine.Engine.
func (t *Target) PollEvent() (engine.Event, bool) { return t.events.Pop() }

// HandleTimer implements engine.Engine.
func (t *Target) HandleTimer(now vtime.Time) { t.sweep(now) }

// PollTimer implements engine.Engine. A message that is over needs no timer: the next packet removes it.
func (t *Target) PollTimer() (vtime.Time, bool) {
	at, ok := t.sends.deadline()
	if record, waits := t.records.deadline(); waits && (!ok || record < at) {
		at, ok = record, true
	}
	return at, ok && !t.failed
}

// Flush implements engine.Engine.
func (t *Target) Flush(vtime.Time) { t.failed = true }

// Vars implements engine.Inspector.
func (t *Target) Vars(list []engine.Var) []engine.Var {
	return append(list,
		engine.Var{Name: "receives", Value: int64(t.host.posted.Len() + len(t.host.returned))},
		engine.Var{Name: "messages", Value: int64(t.host.messages)},
		engine.Var{Name: "no_receive", Value: t.noReceive},
		engine.Var{Name: "crc_errors", Value: t.crcErrors},
		engine.Var{Name: "malformed", Value: t.malformed},
		engine.Var{Name: "refused", Value: t.refused},
		engine.Var{Name: "overflow", Value: t.overflow},
		engine.Var{Name: "lost", Value: t.lost},
		engine.Var{Name: "abandoned", Value: t.abandoned})
}
