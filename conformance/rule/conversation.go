package rule

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Conversation is what an observer can derive of one half-conversation: the requests of one side, and the responses to
// them. It is updated after the checks have seen a sight, so a check compares the packet with the state before it; what
// the packet itself is, relative to that state, is in Sight.
//
// Requester fields come from the requester's tap, responder fields from the responder's tap; with one tap the other
// half stays at its start.
type Conversation struct {
	Index    int        // connection in the trace header
	Req      trace.Side // the requester's side
	Attr     engine.QP  // attributes of the requester's end; Known tells whether they are in force
	PeerAttr engine.QP  // attributes of the responder's end
	Known    bool
	MTU      int     // path MTU in force or learnt; 0 when unknown
	Start    psn.PSN // first request PSN

	// At the requester's tap.
	UNA psn.PSN // oldest PSN not acknowledged by a response that arrived here
	MAX psn.PSN // next PSN never sent

	// At the responder's tap.
	EPSN      psn.PSN // next PSN expected in order, from what arrived with good ICRC
	MSN       psn.MSN // requests completed, from what arrived in order
	GapOpen   bool    // a packet ahead of EPSN arrived and EPSN has not arrived since
	NAKsInGap int     // sequence NAKs sent since the gap opened
	Fatal     bool    // a fatal NAK (0x61 to 0x63) was sent: the responder's QP is in error
	RNRWait   bool    // an RNR NAK was sent for EPSN and EPSN has not been accepted since

	// Of either tap.
	Failed bool // the requester's QP reported Fatal, or a fatal NAK arrived there

	responder responderState
	requester requesterState
}

// Relation is where a request stands in the PSN space at the point where it was seen.
type Relation uint8

// At the requester: First or Again. At the responder: InOrder, Ahead, Duplicate.
const (
	Unrelated Relation = iota
	First              // requester: first transmission of this PSN
	Again              // requester: retransmission
	InOrder            // responder: PSN == EPSN
	Ahead              // responder: PSN > EPSN
	Duplicate          // responder: PSN < EPSN
)

// Sight is a sight with what the tracker knows of it.
type Sight struct {
	trace.Sight
	Point    trace.Point
	Relation Relation
	// Legal is set at ResponderIn for an InOrder request that a responder should execute: good ICRC, legal position in
	// its message, legal length. Reason says what is wrong otherwise.
	Legal  bool
	Reason string
	// Message is the number of messages that the requester began before this request's message, at RequesterOut only,
	// and Offset the packet's number within its message; -1 when not known.
	Message, Offset int
	Since           vtime.Duration // time since the previous sight at the same point
}
