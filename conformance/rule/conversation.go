package rule

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
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
	Index int  // connection in the trace header; -1 for packets that belong to none
	Alone bool // the trace has no other connection
	// the tap stands between the ports, or nobody knows where: every packet is seen once, as its sender's
	Between  bool
	ByBox    bool       // a box stands in for the requester
	AtBox    bool       // a box stands in for the responder
	Req      trace.Side // the requester's side
	Known    bool       // the attributes of both ends are in force
	Attr     *engine.QP // attributes of the requester's end; Known tells whether they are in force
	PeerAttr *engine.QP // attributes of the responder's end
	MTU      int        // path MTU in force or learnt; 0 when unknown
	Start    psn.PSN    // first request PSN
	Started  bool       // Start is known: from the attributes, or from the first request seen
	Port     *Port      // the requester's
	PeerPort *Port      // the responder's

	// At the requester's tap.
	UNA psn.PSN // oldest PSN not acknowledged by a response that arrived here
	MAX psn.PSN // next PSN never sent

	// At the responder's tap.
	EPSN      psn.PSN // next PSN expected in order, from what arrived with good ICRC
	MSN       psn.MSN // requests completed, from what arrived in order
	GapOpen   bool    // a packet ahead of EPSN arrived and EPSN has not arrived since
	Fatal     bool    // a fatal NAK (0x61 to 0x63) was sent: the responder's QP is in error
	RNRWait   bool    // an RNR NAK was sent for EPSN and EPSN has not been accepted since
	NAKsInGap int     // sequence NAKs sent since the gap opened
	Held      int     // requests ahead of EPSN that the responder keeps; always 0 for one that discards them

	Reliable bool // the QP is seen to be of a reliable connection
	Failed   bool // the requester's QP reported Fatal, or a fatal NAK arrived there

	// Earned is what the responder may say.
	Earned Earned

	// Memory is what the responder declares of its regions; nil while it has declared nothing.
	Memory *MemoryMap

	// Reads is the sequence space of READ responses that are numbered apart, in the extension classes.
	Reads ReadSpace

	// Decoders stand between ports and transports, of requests at the responder and of READ responses at the requester;
	// nil for transports without.
	Decoders [2]*Decoder

	responder responderState
	requester requesterState
	shares
	opts     *Options      // what the ends declare; nil when nobody knows
	conn     *trace.Conn   // as the header has it
	room     *room         // for all windows; nil is without end
	ends     *[2]End       // what they take, by side; nil when not known
	last     [4]vtime.Time // latest sight at each point
	turns    *[2]turn      // the latest packet of each side of the connection, of either half
	data     vtime.Time    // the latest READ response that left the responder
	classes  uint8         // opcode classes, a bit each, that the ends have spoken
	ofDevice bool          // it is no half-conversation but all that a device does, at the side of Req
	behind   bool          // taps show packets when the line is done with them
	heard    bool          // an intact answer was seen
	told     vtime.Time    // when an answer has told what the responder expects, see shows; Never before that
}

// Relation is where a request stands in the PSN space at the point where it was seen.
type Relation uint8

// At the requester: First or Again. At the responder: InOrder, Ahead, Duplicate, and Released for a request that came
// Ahead and was kept, seen once more when its turn has come. READ responses that are numbered apart have a relation to
// their own space, with the roles changed: First or Again at the responder, the others at the requester.
const (
	Unrelated Relation = iota
	First              // requester: first transmission of this PSN
	Again              // requester: retransmission
	InOrder            // responder: PSN == EPSN
	Ahead              // responder: PSN > EPSN
	Duplicate          // responder: PSN < EPSN
	Released           // responder: PSN == EPSN, of a request that came earlier and was kept
)

// Sight is a sight with what the tracker knows of it.
type Sight struct {
	trace.Sight
	Point    trace.Point
	Relation Relation
	// Legal is set at ResponderIn for an InOrder or Released request that a responder should execute: good ICRC, legal
	// position in its message, legal length. Reason says what is wrong otherwise; it is one of the Fault constants.
	Legal  bool
	Reason string
	// Recovered is set for a packet that no wire brought: a Decoder made it.
	Recovered bool
	// Of is the half-conversation that the packet belongs to, for a rule of devices; that of Index -1 when it belongs
	// to none.
	Of *Conversation
	// Kept is set for what came Ahead to a receiver that keeps it and has not got it yet.
	Kept bool
	// Arrived is when a Released request arrived; At is when its turn came. Of such a sight Pkt, Sum and Index are the
	// request's, without payload and Raw, and Rec is the record of the packet that it had waited for, or of the
	// response that shows that it was kept; an empty one where a completion shows that.
	Arrived vtime.Time
	// Message is the number of messages that the requester began before this request's message, at RequesterOut only,
	// and Offset the packet's number within its message; -1 when not known.
	Message, Offset int
	// Sent is the first transmission of this PSN, at RequesterOut for Again; nil when it has left the window.
	Sent  *Transmission
	Since vtime.Duration // time since the previous sight at the same point; -1 for the first
}

// Due reports a request whose turn it is at the responder: it arrived in order, or was kept until now.
func (s *Sight) Due() bool { return s.Relation == InOrder || s.Relation == Released }

// Defect says why the bytes of the packet do not decode as seen here; "" when they do.
func (s *Sight) Defect() string {
	if !s.Out && s.Rec.Changed != nil {
		return s.Rec.Changed.Defect
	}
	return s.Rec.Defect
}

// Intact reports whether the receiver of this packet can use it: it decodes, its ICRC is not bad, and no damage to its
// UDP port has hidden from RoCE what it is.
func (s *Sight) Intact() bool {
	return s.ICRC != trace.Bad && s.Defect() == "" && s.Pkt.Opcode.OverIP() == s.Rec.Packet.Opcode.OverIP()
}

// Addressed reports whether a packet that arrives intact is for the QP at that end: version, QP number and partition
// (IBTA 9.6.1), as far as the attributes are known, and for what the harness made, the peer's address and, in a
// request, an opcode of a class that the connection speaks; where the ends are of different kinds, an opcode that this
// one takes. What is not is dropped without an answer, so it moves nothing.
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
func (c *Conversation) Mixed() bool { return c.ends != nil }

// taken reports whether the end where a packet arrives takes its opcode.
func (c *Conversation) taken(s *Sight) bool {
	o, side := s.Pkt.Opcode, c.Req
	if c.ends == nil || o.Class() == roce.ClassRC {
		return true
	}
	if !s.Point.AtRequester() {
		side = side.Other()
	}
	accepts := c.ends[side&1].Accepts
	return accepts != nil && accepts(o)
}

// strange reports a packet of the harness that bears another address than the peer, or asks in another dialect.
func (c *Conversation) strange(s *Sight) bool {
	if peer := c.conn.Ends[s.Tap.Other()].Addr; peer.IsValid() && otherSource(s.Raw, peer) {
		return true
	}
	o := s.Pkt.Opcode
	return o.IsRequest() && c.classes != 0 && c.classes>>(o.Class()&7)&1 == 0
}

// reset starts a conversation from what the header knows of it.
func (c *Conversation) reset(index int, req trace.Side, conn *trace.Conn, ports *[2]Port) {
	me, peer := &conn.Ends[req], &conn.Ends[req.Other()]
	*c = Conversation{Index: index, Req: req, Attr: &me.QP, PeerAttr: &peer.QP, Known: me.Known && peer.Known,
		Port: &ports[req], PeerPort: &ports[req.Other()], conn: conn, turns: new([2]turn)}
	for i := range c.last {
		c.last[i] = vtime.Never
	}
	c.told = vtime.Never
	c.MTU = me.QP.MTU // of a foreign capture that of its full packets, 0 when there were none
	if !c.Known {
		c.requester.pos.unsure, c.responder.pos.unsure = true, true
		return
	}
	c.begin(me.QP.SendPSN)
}

// shares is what the checks of a family derive together: of a half-conversation, or of a side over all QPs.
type shares map[any]any

// Shared returns what make makes for the first check that asks. Key tells families apart.
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

// Packets returns how many packets carry n bytes, at least one; 0 when that depends on an MTU not known.
func (c *Conversation) Packets(n uint32) int {
	if n <= smallestMTU {
		return 1
	}
	if c.MTU == 0 {
		return 0
	}
	return (int(n) + c.MTU - 1) / c.MTU
}

// smallestMTU is the smallest path MTU there is: a message no longer than that is one packet whatever the MTU.
const smallestMTU = 256

// observe fills in what is known of s from the state before it.
func (c *Conversation) observe(s *Sight) {
	s.clear()
	c.heard = c.heard || s.Pkt.Opcode.IsResponse() && s.Intact()
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

// clear forgets what was known of the sight before.
func (s *Sight) clear() {
	s.Relation, s.Legal, s.Reason, s.Kept, s.Sent = Unrelated, false, "", false, nil
	s.Message, s.Offset, s.Since = -1, -1, -1
}

// update moves the state past s.
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
	c.learnMTU(s.Pkt)
	if apart {
		c.updateRead(s)
		return
	}
	switch s.Point {
	case trace.RequesterOut:
		c.requestSent(s)
	case trace.ResponderIn:
		c.requestArrived(s)
	case trace.ResponderOut:
		c.responseSent(s)
	case trace.RequesterIn:
		c.responseArrived(s)
	}
}

// learnMTU takes the MTU from the first packet that must be full, unless there may be several connections, each with
// its own.
func (c *Conversation) learnMTU(p *roce.Packet) {
	if c.MTU != 0 || p.Len < smallestMTU || c.conn.Anew {
		return
	}
	o := p.Opcode
	if (o.IsSend() || o.IsWrite() || o.IsReadResponse()) && !o.EndsMessage() {
		c.MTU = p.Len
	}
}

// event follows the state changes that endpoints report.
func (c *Conversation) event(e *trace.Event) {
	if e.Kind == trace.Fatal && c.Decoders[0] != nil {
		c.decoderAt(e.Side).hush()
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
	case e.Kind != trace.Fatal:
	case c.Mine(e):
		c.Failed = true
	case e.Body.Status == engine.StatusRetryExceeded, e.Body.Status == engine.StatusRNRRetryExceeded:
		c.Fatal = true // the responder's side gave its own requests up: its QP is silent without a NAK
	}
}
