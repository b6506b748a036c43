package rule

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// responderState is the part of the state that is derived from the responder's tap.
type responderState struct {
	pos      position
	lost     bool    // a READ of unknown span arrived: the next request sets EPSN
	bad      bool    // an illegal request arrived at EPSN: a NAK of it follows, and requests Ahead open no gap
	tells    bool    // the trace reports posted receives
	passes   bool    // a response has acknowledged a PSN
	passed   psn.PSN // PSN acknowledged by the latest response; valid when passes is true
	receives uint32  // receives posted
	next     uint32  // index in undo that is written next
	// undo is a ring of the states before the latest requests that an RNR NAK may refuse. A request counts as accepted
	// when it arrives; an RNR NAK, which leaves later, restores the state before it. Any number of requests may have
	// followed by then, so the ring grows rather than drop a request that no response has acknowledged.
	undo []accepted
	keep keep
}

// accepted is the state before a request was accepted, for refused to restore.
type accepted struct {
	valid bool
	psn   psn.PSN
	msn   psn.MSN
	pos   position
}

// position is the position of a side's requests within a message.
type position struct {
	inside  bool // a FIRST was seen and its LAST was not
	unsure  bool // the position is unknown: the trace may have begun inside a message
	op      Operation
	packets int32  // packets of the message so far
	bytes   int    // payload bytes of the message so far
	total   int    // DMALen of a WRITE; -1 for other operations
	va      uint64 // RETH address of a WRITE
}

// open starts a message with packet p.
func (m *position) open(p *roce.Packet, o roce.Opcode) {
	*m = position{inside: true, op: OperationOf(o), total: -1}
	if o.IsWrite() {
		m.va, m.total = p.RETH.VA, int(p.RETH.DMALen)
	}
}

// take counts packet p of the open message.
func (m *position) take(p *roce.Packet, o roce.Opcode) {
	m.packets++
	m.bytes += p.Len
	if o.EndsMessage() {
		m.inside = false
	}
}

// Filled returns the payload bytes of the request's message that the responder accepted before it, for a request whose
// turn has come. A packet whose acceptance was undone and that was accepted again counts once.
func (c *Conversation) Filled(p *roce.Packet) int {
	if p.Opcode.StartsMessage() {
		return 0
	}
	return c.responder.pos.bytes
}

// Place returns the address of the responder's memory that a WRITE packet's payload has, for one whose turn has come.
func (c *Conversation) Place(p *roce.Packet) uint64 {
	if p.Opcode.StartsMessage() {
		return p.RETH.VA
	}
	return c.responder.pos.va + uint64(c.responder.pos.bytes)
}

// The values of Sight.Reason: why a responder does not execute a request (IBTA 9.4, 9.7.4.1). The first three are
// faults of packets that never reach the transport, the next three are faults of order, and the others are faults of
// length.
const (
	FaultICRC      = "bad ICRC"
	FaultDefect    = "does not decode"
	FaultAddress   = "not for this QP"
	FaultNoFirst   = "MIDDLE or LAST outside a message"
	FaultInside    = "FIRST or ONLY inside a message"
	FaultOperation = "operation changes inside a message"
	FaultNotFull   = "FIRST or MIDDLE that is not one MTU long"
	FaultEmptyLast = "LAST without payload"
	FaultTooLong   = "payload longer than the MTU"
	FaultDMALen    = "payload does not add up to DMALen"
	FaultHuge      = "DMALen beyond 2^31"
)

// IsOrderFault reports whether a Reason is a fault of the order of opcodes.
func IsOrderFault(reason string) bool {
	return reason == FaultNoFirst || reason == FaultInside || reason == FaultOperation
}

// fault returns why packet p is illegal at position m; "" when it is legal.
func (m *position) fault(p *roce.Packet, o roce.Opcode, mtu int) string {
	first := o.StartsMessage()
	switch {
	case m.unsure && !first:
		return ""
	case first && m.inside:
		return FaultInside
	case !first && !m.inside:
		return FaultNoFirst
	case !first && OperationOf(o) != m.op:
		return FaultOperation
	}
	return m.lengthFault(p, o, mtu)
}

func (m *position) lengthFault(p *roce.Packet, o roce.Opcode, mtu int) string {
	if !o.IsSend() && !o.IsWrite() {
		if o.IsRead() && p.RETH.DMALen > 1<<31 {
			return FaultHuge
		}
		return ""
	}
	first, last := o.StartsMessage(), o.EndsMessage()
	total, done := m.total, m.bytes
	if first {
		total, done = -1, 0
		if o.IsWrite() {
			total = int(p.RETH.DMALen)
		}
	}
	switch {
	case total > 1<<31:
		return FaultHuge
	case mtu > 0 && p.Len > mtu:
		return FaultTooLong
	case !last && mtu > 0 && p.Len != mtu:
		return FaultNotFull
	case last && !first && p.Len == 0:
		return FaultEmptyLast
	case total >= 0 && (done+p.Len > total || last && done+p.Len != total):
		return FaultDMALen
	}
	return ""
}

func (c *Conversation) observeArrival(s *Sight) {
	if !s.Intact() {
		s.Reason = FaultDefect
		if s.ICRC == trace.Bad {
			s.Reason = FaultICRC
		}
		return
	}
	if !c.Addressed(s) {
		s.Reason = FaultAddress
		return
	}
	r, p := &c.responder, s.Pkt
	if !c.Started {
		c.begin(p.PSN)
	}
	if r.lost && c.EPSN.LessEq(p.PSN) {
		c.EPSN, r.lost = p.PSN, false
	}
	c.again = c.again || p.PSN.Less(c.EPSN) && untold(c)
	switch d := p.PSN.Sub(c.EPSN); {
	case d > 0:
		s.Relation = Ahead
		s.Kept = d < int(r.keep.reach) && !c.mayDrop(p) && !r.keep.fallen && !r.keep.holds(p.PSN) &&
			!(r.keep.rising && c.Held > 0 && p.PSN.Less(r.keep.high))
	case d < 0:
		s.Relation = Duplicate
	default:
		s.Relation = InOrder
		s.Reason = r.pos.fault(p, p.Opcode, c.MTU)
		s.Legal = s.Reason == ""
	}
}

// requestArrived accepts a legal request in order, or records the gap before one that is Ahead.
func (c *Conversation) requestArrived(s *Sight) {
	if c.Fatal {
		return
	}
	r, p := &c.responder, s.Pkt
	if s.Relation == Ahead && !c.GapOpen && !r.bad {
		c.GapOpen, c.NAKsInGap = true, 0
	}
	if s.Relation == Ahead && (r.keep.newest.Less(c.EPSN) || r.keep.newest.Less(p.PSN)) {
		r.keep.newest = p.PSN
	}
	switch {
	case s.Relation == Duplicate:
		r.keep.repeats(p.PSN, c.EPSN)
	case s.Kept:
		c.early(s)
	case s.Relation == Ahead && (c.mayDrop(p) || r.keep.fallen):
		c.doubted(s)
	}
	if s.Due() {
		r.bad = !s.Legal
	}
	if !s.Legal {
		return
	}
	c.accepting(s)
	o := p.Opcode
	if mayWait(o) {
		r.note(accepted{true, p.PSN, c.MSN, r.pos})
	}
	c.GapOpen, c.RNRWait = false, false
	if o.StartsMessage() {
		r.pos.open(p, o)
	}
	r.pos.take(p, o)
	n := c.Span(p)
	r.lost = n == 0
	c.EPSN = p.PSN.Add(min(max(n, 1), psn.Half-1))
	if o.EndsMessage() {
		c.MSN, c.Ended = c.MSN.Next(), c.EPSN.Prev()
	}
	if c.Held > 0 && c.EPSN.LessEq(r.keep.high) && !r.keep.holds(c.EPSN) {
		c.GapOpen, c.NAKsInGap = true, 0 // the next gap
	}
}

// Sizes of the ring undo: below fewUndo it grows before it drops a state; it never exceeds mostUndo.
const (
	fewUndo  = 8
	mostUndo = 1 << 12
)

// note adds a state to the ring undo.
func (r *responderState) note(a accepted) {
	if n := len(r.undo); n == 0 || n < mostUndo && r.undo[r.next].valid &&
		(n < fewUndo || !(r.passes && r.undo[r.next].psn.LessEq(r.passed))) {
		grown := make([]accepted, max(1, 2*n))
		copy(grown[copy(grown, r.undo[r.next:]):], r.undo[:r.next])
		r.undo, r.next = grown, uint32(n)
	}
	r.undo[r.next] = a
	r.next = (r.next + 1) % uint32(len(r.undo))
}

// unanswered returns the number of PSNs that the responder accepted and has not acknowledged.
func (c *Conversation) unanswered() int {
	if r := &c.responder; r.passes {
		return c.EPSN.Sub(r.passed.Next())
	}
	return c.EPSN.Sub(c.Start)
}

// Furthers reports whether an answer that leaves, and acknowledges last, acknowledges more than the one before.
func Furthers(c *Context, last psn.PSN) bool {
	return !c.responder.passes || c.responder.passed.Less(last)
}

// responseSent updates the state by a response that leaves.
func (c *Conversation) responseSent(s *Sight) {
	p := s.Pkt
	if last, ok := Acknowledged(p); ok {
		c.responder.passed, c.responder.passes = last, true
	}
	c.names(p)
	if p.Opcode == roce.FNACK {
		c.forget(p.SACK.PSN) // "RCV-NXT < PSN < sack-high": dropped (FaSR III-D)
	}
	if p.Opcode != roce.Acknowledge {
		return
	}
	switch a := p.AETH.Syndrome; {
	case a == roce.SyndromePSNSeqErr:
		c.NAKsInGap++
	case IsFatal(a):
		c.Fatal = true
	case a.IsRNR():
		c.refused(p.PSN)
	}
}

// refused undoes the acceptance of the request at p, which an RNR NAK names.
func (c *Conversation) refused(p psn.PSN) {
	r := &c.responder
	if c.Keeps() {
		c.takeBack(p)
		c.RNRWait = c.RNRWait || p == c.EPSN
		return
	}
	for i := range r.undo {
		if u := &r.undo[i]; u.valid && u.psn == p && p.Less(c.EPSN) {
			c.EPSN, c.MSN, r.pos, r.lost = p, u.msn, u.pos, false
			u.valid = false
			c.GapOpen = false
		}
	}
	c.RNRWait = c.RNRWait || p == c.EPSN
}

// mayWait reports whether a responder may not be ready for a request: it takes a receive, or it is a READ or atomic,
// which takes resources of the responder.
func mayWait(o roce.Opcode) bool { return o.TakesReceive() || o.IsRead() || o.IsAtomic() }

// MayWait reports whether the responder may not be ready for request p, which has been accepted and not acknowledged.
func MayWait(c *Context, p psn.PSN) bool {
	r := &c.responder
	for i := range r.undo {
		if u := &r.undo[i]; u.valid && u.psn == p {
			return !r.passes || r.passed.Less(p)
		}
	}
	return false
}

// NoneDue reports whether no request with the expected PSN, and none after it, has arrived since that is expected.
func NoneDue(c *Context) bool {
	r := &c.responder
	return !c.GapOpen && !c.RNRWait && !r.bad && !r.lost
}
