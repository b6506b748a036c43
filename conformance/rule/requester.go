package rule

import (
	"math"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// requesterState is the part of the state that is derived from the requester's tap.
type requesterState struct {
	pos      position
	messages int32   // messages begun
	rounds   int32   // retransmissions of stuck
	stuck    psn.PSN // the latest UNA that was retransmitted
	lost     bool    // a READ of unknown span was sent: the next first transmission sets MAX
	refused  bool    // an RNR NAK arrived
	window   window
	reads    []readSpan // READs and atomics whose responses have not all arrived, oldest first
}

// readSpan is an outstanding READ or atomic: its PSNs [first, end), and the PSN of the next response expected. first <=
// next <= end.
type readSpan struct{ first, next, end psn.PSN }

// readLimit bounds the outstanding READs that are remembered; it is far above any negotiated depth.
const readLimit = 1 << 12

// Transmission is the first transmission of one PSN, and how often the PSN has been sent. It takes 64 bytes, a line of
// the caches.
type Transmission struct {
	PSN    psn.PSN
	Opcode roce.Opcode
	// Answered is set for a READ whose responses have a PSN space of their own, when all its data have come in order.
	Answered bool
	Message  int32  // messages begun before this packet's
	Offset   int32  // packet within its message
	Len      int    // payload bytes; for a READ request the bytes asked for from this PSN on
	VA       uint64 // where the packet acts: remote address of its first byte; 0 for SEND
	Sum      uint32 // CRC-32 of the payload; 0 when there are no bytes
	RKey     uint32 // R_Key of the region; 0 for SEND and for a packet without R_Key
	Extra    uint32 // immediate, key to invalidate, length or operands, see Extra
	Times    int32  // transmissions seen; 0 for a PSN inside a READ's range
	First    vtime.Time
	Latest   vtime.Time
}

// Sent returns the first transmission of p; nil when p was not sent or the window no longer holds it.
func (c *Conversation) Sent(p psn.PSN) *Transmission { return c.requester.window.find(p) }

// GoBackChunk returns the parameter backto0 of the requester, in bytes: the offset in the message to which it goes back
// is rounded down to a multiple of the chunk. 0 means that it goes back to the missing packet itself. When the
// parameter is unknown the chunk may be a whole message.
func (c *Conversation) GoBackChunk() int {
	text, unknown := c.Given(Requester, "backto0")
	if unknown {
		return math.MaxInt
	}
	n, err := unit.ParseSize(text)
	if text == "" || err != nil {
		return 0
	}
	return int(n)
}

// GoBackPoint returns the first PSN that a requester may retransmit when p is missing: the beginning of the chunk of a
// SEND or WRITE that contains p, or p itself.
func (c *Conversation) GoBackPoint(p psn.PSN) psn.PSN {
	chunk, t := c.GoBackChunk(), c.Sent(p)
	if chunk == 0 || c.MTU == 0 || t == nil || t.Opcode.IsRead() {
		return p
	}
	offset := int(t.Offset)
	return p.Add(offset*c.MTU/chunk*chunk/c.MTU - offset)
}

// Overfills reports whether that many packets may exceed the buffer of a box. A box does not acknowledge packets beyond
// its buffer until its own peer has acknowledged some.
func (c *Conversation) Overfills(packets int) bool {
	limit, err := unit.ParseSize(c.Attr.Params["buffer"])
	return err == nil && limit > 0 && unit.Size(packets*(c.MTU+fullHeaders)) > limit
}

// OutstandingReads returns the number of READs and atomics that were sent and are not completely answered, at the
// requester's tap.
func (c *Conversation) OutstandingReads() int { return len(c.requester.reads) + len(c.Reads.reads) }

// OldestRead returns the PSNs [first, end) of the oldest such READ and the PSN of its next response. It covers the RC
// class only, where READ responses have the PSNs of requests.
func (c *Conversation) OldestRead() (first, next, end psn.PSN, ok bool) {
	if len(c.requester.reads) == 0 {
		return 0, 0, 0, false
	}
	r := &c.requester.reads[0]
	return r.first, r.next, r.end, true
}

// PositionUnsure reports whether the PSN of the next first transmission is unknown: the first PSN is not known
// (Started), or a READ was sent while the MTU was unknown.
func (c *Conversation) PositionUnsure() bool { return !c.Started || c.requester.lost }

func (c *Conversation) observeRequest(s *Sight) {
	r := &c.requester
	if !c.Started {
		c.begin(s.Pkt.PSN)
	}
	if r.lost && c.MAX.LessEq(s.Pkt.PSN) {
		c.MAX, r.lost = s.Pkt.PSN, false
	}
	if s.Pkt.PSN.Less(c.MAX) {
		s.Relation, s.Sent = Again, r.window.find(s.Pkt.PSN)
		if s.Sent != nil {
			s.Message, s.Offset = int(s.Sent.Message), int(s.Sent.Offset)
		}
		return
	}
	s.Relation = First
	s.Message, s.Offset = int(r.messages), 0
	if !s.Pkt.Opcode.StartsMessage() {
		s.Message, s.Offset = int(r.messages)-1, int(r.pos.packets)
	}
}

func (c *Conversation) requestSent(s *Sight) {
	r, p := &c.requester, s.Pkt
	if s.Relation == Again {
		c.Port.again(c, s)
		if s.Sent != nil {
			s.Sent.Times++
			s.Sent.Latest = s.At
		}
		if c.UNA.In(p.PSN, p.PSN.Add(max(1, c.Span(p)))) {
			if r.stuck != c.UNA {
				r.stuck, r.rounds = c.UNA, 0
			}
			r.rounds++
		}
		return
	}
	o := p.Opcode
	if o.StartsMessage() {
		r.messages++
		r.pos.open(p, o)
	}
	t := r.window.add(c, p.PSN)
	*t = Transmission{PSN: p.PSN, Opcode: p.Opcode, Message: int32(s.Message), Offset: int32(s.Offset), Len: p.Len,
		Sum: s.Sum, RKey: p.RETH.RKey, Extra: Extra(p), Times: 1, First: s.At, Latest: s.At}
	switch named := o.Layout()&(roce.LayoutRETH|roce.LayoutVAETH) != 0; {
	case o.IsWrite() && !(named && r.pos.unsure): // unsure: its message was seen from the middle
		t.VA = r.pos.va + uint64(r.pos.bytes)
	case named:
		t.VA = p.RETH.VA
	}
	r.pos.take(p, o)
	c.MAX = p.PSN.Next()
	if o.IsRead() || o.IsAtomic() {
		c.readSent(p, t)
	}
}

// readSent claims the PSNs of a READ's responses and remembers it as outstanding.
func (c *Conversation) readSent(p *roce.Packet, t *Transmission) {
	r, n := &c.requester, c.Span(p)
	if apartRead(p.Opcode) {
		t.VA, t.Len = p.RETH.VA, int(p.RETH.DMALen)
		readSpace(c).requested(p)
		return
	}
	r.lost = n == 0
	n = min(max(n, 1), psn.Half-1)
	t.VA, t.Len = p.RETH.VA, int(p.RETH.DMALen)
	whole := *t
	for i := 1; i < min(n, readFill); i++ {
		at, done := p.PSN.Add(i), i*c.MTU
		*r.window.add(c, at) = Transmission{PSN: at, Opcode: p.Opcode, Message: whole.Message, Offset: int32(i),
			Len: whole.Len - done, VA: whole.VA + uint64(done), RKey: whole.RKey, First: whole.First,
			Latest: whole.First}
	}
	c.MAX = p.PSN.Add(n)
	if len(r.reads) == readLimit {
		r.reads = r.reads[:copy(r.reads, r.reads[1:])]
	}
	r.reads = append(r.reads, readSpan{first: p.PSN, next: p.PSN, end: c.MAX})
}

// responseArrived advances UNA by a response that arrived.
func (c *Conversation) responseArrived(s *Sight) {
	p, r := s.Pkt, &c.requester
	if !c.Started || !p.PSN.In(c.UNA, c.MAX) {
		return
	}
	o := p.Opcode
	switch {
	case o.IsReadResponse() || o == roce.AtomicAck:
		c.dataArrived(p.PSN)
	case p.Opcode != roce.Acknowledge:
		c.acknowledge(p.PSN) // a selective acknowledgement names the expected PSN
	case p.AETH.Syndrome.IsACK():
		c.acknowledge(p.PSN.Next())
	case p.AETH.Syndrome.IsRNR(), IsNAK(p), IsFatalNAK(p): // another NAK code says nothing on a reliable connection
		c.acknowledge(p.PSN)
		r.refused = r.refused || p.AETH.Syndrome.IsRNR()
		c.Failed = c.Failed || IsFatal(p.AETH.Syndrome)
	}
}

// acknowledge moves UNA to p, but not past a READ whose data have not arrived: only data complete a READ (IBTA
// 9.7.5.1).
func (c *Conversation) acknowledge(p psn.PSN) {
	if r := c.requester.reads; len(r) > 0 && r[0].next.Less(p) {
		p = r[0].next
	}
	if c.UNA.Less(p) {
		c.UNA = p
	}
}

// dataArrived takes one response of a READ or atomic. It acknowledges all requests before its READ, and completes the
// READ only in order.
func (c *Conversation) dataArrived(p psn.PSN) {
	r := &c.requester
	for i := range r.reads {
		read := &r.reads[i]
		if !p.In(read.first, read.end) {
			continue
		}
		c.acknowledge(read.first)
		if i > 0 || p != read.next {
			return
		}
		read.next = p.Next()
		c.UNA = psn.Max(c.UNA, read.next)
		if read.next == read.end {
			r.reads = r.reads[:copy(r.reads, r.reads[1:])]
		}
		return
	}
	c.acknowledge(p.Next()) // the answer to an operation without a readSpan, such as ATOMIC_WRITE
}

// window holds the transmissions that are outstanding, in a ring that grows with the span of PSNs in flight.
type window struct{ slots []Transmission }

// windowLeast is the number of transmissions that a window can hold before it counts against windowsLimit, acknowledged
// ones included.
const windowLeast = 64

// Limits of the windows, in slots: one window has at most windowLimit, so that older PSNs are forgotten, and all
// windows together have at most windowsLimit beyond windowLeast each.
const (
	windowLimit  = 1 << 20
	windowsLimit = 1 << 21
)

// readFill bounds the PSNs of one READ that have a slot each.
const readFill = 1 << 16

// noPSN marks an empty slot; no PSN has this value, because PSNs have 24 bits.
const noPSN psn.PSN = 1 << 24

func (w *window) find(p psn.PSN) *Transmission {
	if len(w.slots) == 0 {
		return nil
	}
	t := &w.slots[int(p)&(len(w.slots)-1)]
	if t.PSN != p {
		return nil
	}
	return t
}

// add returns the slot of p. It grows the ring, within the limits, so that all unacknowledged PSNs fit. With a tap
// between the ports UNA does not advance, so the ring then stays at windowLeast.
func (w *window) add(c *Conversation, p psn.PSN) *Transmission {
	n, span := len(w.slots), p.Sub(c.UNA)+1
	if c.Between {
		span = min(span, windowLeast)
	}
	if span > n {
		w.grow(span, roomOf(c.owner))
	} else if t := &w.slots[int(p)&(n-1)]; n < windowLeast && t.PSN != noPSN && t.PSN != p {
		w.grow(n+1, roomOf(c.owner))
	}
	return &w.slots[int(p)&(len(w.slots)-1)]
}

// room is the number of slots by which the windows of all conversations may still grow.
type room struct {
	left int
	full bool // a window had to grow and could not
}

// take takes n slots; it returns false when fewer are left.
func (r *room) take(n int) bool {
	if r == nil {
		return true
	}
	if r.left < n {
		r.full = true
		return false
	}
	r.left -= n
	return true
}

// grow doubles the ring until span fits, within the limits.
func (w *window) grow(span int, r *room) {
	size := len(w.slots)
	for size < min(span, windowLimit) && (size < windowLeast || r.take(size)) {
		size = max(1, 2*size)
	}
	if size == len(w.slots) {
		return
	}
	old := w.slots
	w.slots = make([]Transmission, size)
	for i := range w.slots {
		w.slots[i].PSN = noPSN
	}
	for i := range old {
		if old[i].PSN != noPSN {
			w.slots[int(old[i].PSN)&(size-1)] = old[i]
		}
	}
}
