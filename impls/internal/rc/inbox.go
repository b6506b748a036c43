package rc

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// Inbox executes SENDs and WRITEs for a responder that executes packets in PSN order: it places their payloads and
// reports their completions. It holds the receive queue and the message that is arriving. The zero Inbox is empty.
type Inbox struct {
	kind    Kind                             // operation of the arriving message; None between messages
	VA      uint64                           // address of the next byte of the message
	Got     uint32                           // bytes of the message placed so far
	left    uint32                           // bytes that may still arrive, by the DMALen or the receive buffer
	receive engine.ReceiveRequest            // receive that a SEND is filling
	queue   ring.Ring[engine.ReceiveRequest] // posted receives, oldest first
}

// Post queues a receive.
func (b *Inbox) Post(rr engine.ReceiveRequest, qp *engine.QP) error {
	if b.queue.Len() >= qp.ReceiveDepth {
		return engine.ErrQueueFull
	}
	b.queue.Push(rr)
	return nil
}

// Receives returns the number of receives that are posted and not used.
func (b *Inbox) Receives() int { return b.queue.Len() }

// CheckSequence requires FIRST or ONLY outside a message, and MIDDLE or LAST of the same operation inside one (IBTA
// 9.4).
func (b *Inbox) CheckSequence(s *Shape) Verdict {
	inside := b.kind != None
	if s.First == inside || inside && s.Kind != b.kind {
		return Invalid
	}
	return Fine
}

// LacksReceive reports whether a packet needs a receive and none is posted. The first packet of a SEND needs a receive
// for its payload, and the last of a WRITE with immediate needs one for its completion (IBTA 9.7.5.2.8).
func (b *Inbox) LacksReceive(s *Shape) bool {
	needs := s.Kind == Send && s.First || s.Kind == Write && s.Imm
	return needs && b.queue.Len() == 0
}

// Open begins the message of a first packet. A SEND takes the oldest receive before its length is checked, so that a
// SEND that is too long completes that receive with the error.
func (b *Inbox) Open(p *roce.Packet, s *Shape) {
	b.kind, b.Got = s.Kind, 0
	if s.Kind == Write {
		b.VA, b.left = p.RETH.VA, p.RETH.DMALen
		return
	}
	b.receive, _ = b.queue.Pop()
	b.VA, b.left = b.receive.VA, b.receive.Len
}

// CheckLength checks the payload by itself, and then against the bytes that may still arrive: the rest of the receive
// buffer for a SEND (NEG-LEN-006), the rest of the DMALen for a WRITE (NEG-LEN-005), whose packets add up to exactly
// the DMALen.
func (b *Inbox) CheckLength(p *roce.Packet, s *Shape, mtu int) Verdict {
	if v := CheckPayload(p, s, mtu); v != Fine {
		return v
	}
	n := uint32(p.Len)
	switch {
	case s.Kind == Send && n > b.left:
		return TooLong
	case s.Kind == Write && (n > b.left || s.Last && n != b.left):
		return Invalid
	case s.Kind == Write && s.First && p.RETH.DMALen > MaxMessage:
		return Invalid
	}
	return Fine
}

// Place stores the payload. The R_Key in the first packet of a WRITE must permit the whole range, so that a WRITE
// without permission changes no byte at all. Zero bytes are permitted with any key (IBTA 10.6.3.1).
func (b *Inbox) Place(p *roce.Packet, s *Shape, qp *engine.QP, mem engine.Memory) Verdict {
	if s.First && s.Kind == Write && !mem.Permit(qp.PD, p.RETH.RKey, p.RETH.VA, p.RETH.DMALen, engine.RemoteWrite) {
		return Forbidden
	}
	n := p.Len
	if n > 0 && !mem.Store(b.VA, p.Payload, n) {
		return LocalFault
	}
	b.VA += uint64(n)
	b.left -= uint32(n)
	b.Got += uint32(n)
	return Fine
}

// Finish ends the message at its last packet p, and completes the receive that the message uses, if any.
func (b *Inbox) Finish(p *roce.Packet, s *Shape, events *ring.Ring[engine.Event]) {
	e := engine.Event{Kind: engine.ReceiveCQE, Op: s.Op, ID: b.receive.ID, Len: b.Got, PSN: p.PSN}
	switch s.Op {
	case engine.OpSendImm:
		e.Imm = p.Imm
	case engine.OpSendInv:
		e.InvKey = p.InvKey
	case engine.OpWriteImm:
		rr, _ := b.queue.Pop()
		e.ID, e.Imm = rr.ID, p.Imm
	}
	b.kind = None
	if s.Op != engine.OpWrite {
		events.Push(e)
	}
}

// EndMessage abandons an incomplete message; the receive that it was filling completes with status s. at is the PSN in
// the event.
func (b *Inbox) EndMessage(s engine.Status, at psn.PSN, events *ring.Ring[engine.Event]) {
	if b.kind == Send {
		endReceive(b.receive.ID, s, at, events)
	}
	b.kind = None
}

// Flush completes all unused receives with StatusFlushed (IBTA 10.3.1).
func (b *Inbox) Flush(at psn.PSN, events *ring.Ring[engine.Event]) {
	for rr, ok := b.queue.Pop(); ok; rr, ok = b.queue.Pop() {
		endReceive(rr.ID, engine.StatusFlushed, at, events)
	}
}

func endReceive(id uint64, s engine.Status, at psn.PSN, events *ring.Ring[engine.Event]) {
	events.Push(engine.Event{Kind: engine.ReceiveCQE, Status: s, Op: engine.OpSend, ID: id, PSN: at})
}
