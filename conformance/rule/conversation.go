package rule

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/shim"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Conversation is the state of one half-conversation (the requests of one side, and the responses to them) as an
// observer can derive it. It is updated after the checks have seen a sight, so a check compares a packet with the state
// before the packet. The packet's relation to that state is in Sight.
//
// Requester fields come from the requester's tap, responder fields from the responder's tap; with one tap the fields of
// the other end keep their initial values. Small fields stand together, because every flow has two: with them its half
// takes 512 bytes, a size of the allocator.
type Conversation struct {
	Index int  // connection in the trace header; -1 for packets that belong to none
	Alone bool // the trace has one connection only
	// the tap is between the ports, or its place is unknown: every packet is seen once, as leaving its sender
	Between  bool
	Inferred bool       // the places of the taps were inferred: a frame may have been damaged before its tap
	ByBox    bool       // a box stands in for the requester, or may
	AtBox    bool       // a box stands in for the responder, or may
	Req      trace.Side // the requester's side
	Known    bool       // the attributes of both ends are in force
	Several  bool       // the packets may be of several connections (trace.Conn.Anew)
	Attr     *engine.QP // attributes of the requester's end; Known tells whether they are in force
	PeerAttr *engine.QP // attributes of the responder's end
	MTU      int        // path MTU in force, or that the capture shows; 0 when unknown
	Start    psn.PSN    // PSN of the first request
	Started  bool       // Start is known: from the attributes, or from the first request seen
	Reliable bool       // a packet has shown that the QP is of a reliable connection
	Failed   bool       // the requester's QP is in error by its reports, see Breaks, or a fatal NAK arrived there
	heard    bool       // an intact response was seen
	Port     *Port      // the requester's
	PeerPort *Port      // the responder's

	// At the requester's tap.
	UNA psn.PSN // oldest PSN not acknowledged by a response that arrived here
	MAX psn.PSN // next PSN never sent

	// At the responder's tap.
	EPSN      psn.PSN // next PSN expected in order, from what arrived with good ICRC
	MSN       psn.MSN // requests completed, from what arrived in order
	Ended     psn.PSN // last PSN of the newest request completed; valid when MSN > 0 and Ended < EPSN
	GapOpen   bool    // a packet ahead of EPSN arrived and EPSN has not arrived since
	Fatal     bool    // the responder's QP is in error: it sent a fatal NAK (0x61 to 0x63), or reports so, see Breaks
	RNRWait   bool    // an RNR NAK was sent for EPSN, and EPSN has not been accepted since
	rising    bool    // the requester keeps an early READ response only if it is newer than all that it holds
	behind    bool    // taps see a packet when its last bit has left the line
	classes   uint8   // opcode classes seen on the connection, one bit each
	ofDevice  bool    // this is no half-conversation but all traffic of the device at side Req
	sure      bool    // told is of an answer that is no data, which may be repeated without telling what is expected
	NAKsInGap int32   // sequence NAKs sent since the gap opened
	Held      int32   // requests ahead of EPSN that the responder keeps; 0 for a responder that discards them

	// Earned counts the answers that the responder may still send.
	Earned Earned

	again bool // a request came again before an answer told what is expected, see shows

	// Memory holds the regions that the responder declares; nil before its first declaration.
	Memory *MemoryMap

	// Reads is the PSN space of READ responses in the extension classes, which do not use the PSNs of requests.
	Reads *ReadSpace

	// Decoders are between ports and transports: [0] of requests at the responder, [1] of READ responses at the
	// requester; nil for a transport without them.
	Decoders [2]*shim.Decoder

	responder responderState
	requester requesterState
	shares
	owner *Judge        // nil when Index is -1
	conn  *trace.Conn   // the connection in the header
	last  [4]vtime.Time // time of the latest sight at each point; Never before the first
	turns *[2]turn      // the latest packet that each side has sent, in either half-conversation
	data  vtime.Time    // time of the latest READ response that left the responder
	told  vtime.Time    // time of the answer that shows the responder's expected PSN, see shows; Never before
}

// Relation is the position of a request in the PSN space at the point of its sight.
type Relation uint8

// At the requester: First or Again. At the responder: InOrder, Ahead, Duplicate, and Released for the second sight of a
// request that came Ahead and was kept, when its turn has come. READ responses in a PSN space of their own have a
// relation to that space, with the roles exchanged: First or Again at the responder, the others at the requester.
const (
	Unrelated Relation = iota
	First              // requester: first transmission of this PSN
	Again              // requester: retransmission
	InOrder            // responder: PSN == EPSN
	Ahead              // responder: PSN > EPSN
	Duplicate          // responder: PSN < EPSN
	// responder: PSN == EPSN, of a request that came earlier and was kept. Pkt, Sum and Index are those of the request,
	// without payload and Raw; Rec is the record of what shows that its turn has come: the packet that it had waited for,
	// a response, or an empty record for a completion
	Released
)

// Sight is a sight of a packet with its relation to the state of the Conversation.
type Sight struct {
	trace.Sight
	Point    trace.Point
	Relation Relation
	// Legal is set at ResponderIn for an InOrder or Released request that a responder should execute: good ICRC, legal
	// position in its message, legal length. Otherwise Reason is the fault, one of the Fault constants.
	Legal  bool
	Reason string
	// Recovered is set for a packet that did not arrive but was recovered by a shim.Decoder.
	Recovered bool
	// Of is the half-conversation of the packet, for a rule of devices; the one with Index -1 for a packet of none.
	Of *Conversation
	// Kept is set for a packet that came Ahead and that its receiver keeps, and did not hold before.
	Kept bool
	// Message is the number of messages that the requester began before this request's message, at RequesterOut only,
	// and Offset the packet's number within its message; -1 when not known.
	Message, Offset int
	// Sent is the first transmission of this PSN, at RequesterOut for Again; nil when the window no longer holds it.
	Sent  *Transmission
	Since vtime.Duration // time since the previous sight at the same point; -1 for the first
	tick  vtime.Duration // resolution of the time stamps; 0 when they are exact
}

// Due reports whether it is the turn of the request at the responder: it arrived in order, or was kept until now.
func (s *Sight) Due() bool { return s.Relation == InOrder || s.Relation == Released }

// Defect returns why the bytes of the packet, as seen here, do not decode; "" when they do.
func (s *Sight) Defect() string {
	if !s.Out && s.Rec.Changed != nil {
		return s.Rec.Changed.Defect
	}
	return s.Rec.Defect
}

// Intact reports whether the receiver of this packet can use it: it decodes, its ICRC is not bad and not that of a
// damaged packet, and its UDP port was not damaged so that RoCE would not receive it.
func (s *Sight) Intact() bool {
	return s.ICRC != trace.Bad && s.Defect() == "" && (s.Out || !s.Rec.Damaged()) &&
		s.Pkt.Opcode.OverIP() == s.Rec.Packet.Opcode.OverIP()
}

// Addressed reports whether a packet that arrives intact is for the QP at that end: version, QP number and partition
// (IBTA 9.6.1) match as far as the attributes are known. A packet made by the harness must also have the peer's address
// and, if a request, an opcode of a class seen on the connection. Where the ends are of different kinds, the end must
// take the opcode. A QP drops any other packet without an answer, so such a packet changes no state.
func (c *Conversation) Addressed(s *Sight) bool {
	p, q := s.Pkt, c.PeerAttr
	if s.Rec.Fate == trace.Injected && c.strange(s) || !c.taken(s) {
		return false
	}
	if s.Point.AtRequester() {
		q = c.Attr
	}
	return p.TVer == 0 && (q.QPN == 0 || p.DestQP == q.QPN) && (!c.Known || SamePartition(p.PKey, q.PKey))
}

// Mixed reports whether the ends are known to be of different kinds.
func (c *Conversation) Mixed() bool { return c.owner != nil && c.owner.opts.Mixed }

// taken reports whether the end at which a packet arrives accepts the opcode of the packet.
func (c *Conversation) taken(s *Sight) bool {
	o, side, ends := s.Pkt.Opcode, c.Req, endsOf(c.owner)
	if ends == nil || o.Class() == roce.ClassRC {
		return true
	}
	if !s.Point.AtRequester() {
		side = side.Other()
	}
	accepts := ends[side&1].Accepts
	return accepts != nil && accepts(o)
}

// strange reports whether a packet made by the harness has a source address other than the peer's, or is a request of
// an opcode class not seen on the connection.
func (c *Conversation) strange(s *Sight) bool {
	if peer := c.conn.Ends[s.Tap.Other()].Addr; peer.IsValid() && otherSource(s.Raw, peer) {
		return true
	}
	o := s.Pkt.Opcode
	return o.IsRequest() && c.classes != 0 && c.classes>>(o.Class()&7)&1 == 0
}

// reset sets c to the initial state of a conversation, with the attributes in the header.
func (c *Conversation) reset(index int, req trace.Side, conn *trace.Conn, ports *[2]Port) {
	me, peer := &conn.Ends[req], &conn.Ends[req.Other()]
	*c = Conversation{Index: index, Req: req, Attr: &me.QP, PeerAttr: &peer.QP, Known: me.Known && peer.Known,
		Several: conn.Anew, Port: &ports[req], PeerPort: &ports[req.Other()],
		conn: conn, Reads: &noReads, turns: new([2]turn)}
	c.responder.keep.ring = &noRing
	for i := range c.last {
		c.last[i] = vtime.Never
	}
	c.told = vtime.Never
	c.MTU = me.QP.MTU // in a foreign capture the length of full packets, 0 when there were none
	if !c.Known {
		c.requester.pos.unsure, c.responder.pos.unsure = true, true
		return
	}
	c.begin(me.QP.SendPSN)
}

// shares holds state that the checks of a family share: about a half-conversation, or about a side over all QPs.
type shares map[any]any

// Shared returns the state under key; the first call makes it with make. Each family has its own key.
func (s *shares) Shared(key any, make func() any) any {
	if *s == nil {
		*s = shares{}
	}
	if (*s)[key] == nil {
		(*s)[key] = make()
	}
	return (*s)[key]
}

// begin sets every PSN variable to the first PSN of the conversation.
func (c *Conversation) begin(p psn.PSN) {
	c.Start, c.Started = p, true
	c.UNA, c.MAX, c.EPSN = p, p, p
	c.responder.keep.newest = p.Prev()
}

// Mine reports whether e was reported by the requester's side; otherwise the responder's side did.
func (c *Conversation) Mine(e *trace.Event) bool { return e.Side == c.Req }

// Span returns how many PSNs a request occupies: one, or for a READ of the RC class one per response packet. It is 0
// for a READ while the MTU is unknown.
func (c *Conversation) Span(p *roce.Packet) int {
	if p.Opcode != roce.ReadRequest {
		return 1
	}
	return c.Packets(p.RETH.DMALen)
}

// Packets returns the number of packets that carry n bytes, at least one; 0 when it depends on an unknown MTU.
func (c *Conversation) Packets(n uint32) int {
	if n <= smallestMTU || int64(n) <= int64(c.conn.Fits) && !c.Several {
		return 1
	}
	if c.MTU == 0 {
		return 0
	}
	return (int(n) + c.MTU - 1) / c.MTU
}

// smallestMTU is the smallest path MTU of IBTA: a message no longer than this is one packet at any MTU.
const smallestMTU = 256

// observe sets the fields of s that depend on the state before it.
func (c *Conversation) observe(s *Sight) {
	s.clear()
	s.tick = tickOf(c.owner)
	c.heard = c.heard || s.Pkt.Opcode.IsResponse() && s.Intact()
	if s.Out {
		lives(c, s)
	}
	if s.Pkt.Opcode.NumberedApart() {
		c.observeRead(s)
		return
	}
	if t := c.last[s.Point&3]; t != vtime.Never {
		s.Since = s.At.Sub(t)
	}
	if s.Rec.Fate != trace.Injected {
		c.classes |= 1 << (s.Pkt.Opcode.Class() & 7)
	}
	switch s.Point {
	case trace.RequesterOut:
		c.observeRequest(s)
	case trace.ResponderIn:
		c.observeArrival(s)
	default:
		c.shows(s)
	}
}

// clear resets the fields that observe sets.
func (s *Sight) clear() {
	s.Relation, s.Legal, s.Reason, s.Kept, s.Sent = Unrelated, false, "", false, nil
	s.Message, s.Offset, s.Since = -1, -1, -1
}

// update advances the state by s.
func (c *Conversation) update(s *Sight) {
	apart := s.Pkt.Opcode.NumberedApart()
	if !apart {
		c.last[s.Point&3] = s.At
	}
	if s.Relation == Released {
		c.requestArrived(s)
		return
	}
	c.Earned.follow(c, s)
	if s.Out {
		took(c, s)
	}
	if !s.Intact() || !s.Out && !c.Addressed(s) {
		return
	}
	c.Reliable = c.Reliable || !s.Point.AtRequester()
	if apart {
		c.updateRead(s)
		eases(c, s)
		return
	}
	switch s.Point {
	case trace.RequesterOut:
		c.requestSent(s)
		spends(c, s)
	case trace.ResponderIn:
		c.requestArrived(s)
	case trace.ResponderOut:
		c.responseSent(s)
	case trace.RequesterIn:
		c.responseArrived(s)
		eases(c, s)
	}
}

// Breaks reports whether an event shows that the QP of its end is in error: the end says so, or a request of its own
// has completed with an error other than a flush. A program that reports in lines tells only the latter.
func Breaks(e *trace.Event) bool {
	return e.Kind == trace.Fatal || failsRequest(e)
}

// failsRequest reports whether an event is the completion of a request with an error of its own.
func failsRequest(e *trace.Event) bool {
	return e.Kind == trace.CQE && e.Body.Status != engine.StatusSuccess && e.Body.Status != engine.StatusFlushed
}

// event updates the state by an event that an endpoint reports.
func (c *Conversation) event(e *trace.Event) {
	if Breaks(e) && c.Decoders[0] != nil {
		c.decoderAt(e.Side).Hush()
	}
	switch {
	case e.Kind == trace.Receive && !c.Mine(e):
		c.responder.receives++
	case e.Kind == trace.Probe && !c.Mine(e):
		if c.Memory == nil {
			c.Memory = new(MemoryMap)
		}
		c.Memory.Probe(e)
	case e.Kind == trace.Store && !c.Mine(e) && c.Memory.Gets(e.VA):
		c.Earned.Loads = max(0, c.Earned.Loads-1)
	case !Breaks(e):
	case c.Mine(e):
		c.Failed = true
	case failsRequest(e), e.Body.Status == engine.StatusRetryExceeded, e.Body.Status == engine.StatusRNRRetryExceeded:
		c.Fatal = true // a request of the responder's side failed: its QP is silent without a NAK
	}
}
