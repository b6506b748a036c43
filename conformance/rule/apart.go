package rule

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// ReadSpace is the PSN space of READ responses in the extension classes, where a READ request takes one PSN of the
// requests' space and its responses have PSNs of their own (IRN 5.2: "sPSN and rPSN"). The responder sends the
// responses, and the requester acknowledges them. The paper does not say with which PSN the space starts. It is found
// from the first response seen, which names its READ and its offset; earlier ones may have been lost before the tap.
type ReadSpace struct {
	Started bool
	MAX     psn.PSN // at the responder's tap: next PSN never sent
	UNA     psn.PSN // at the responder's tap: oldest PSN not acknowledged by a packet that arrived there
	EPSN    psn.PSN // at the requester's tap: next PSN expected in order
	high    psn.PSN // newest PSN held; valid when Held > 0
	Held    int     // at the requester's tap: responses that came before their turn

	slots []dataKept // early responses at the requester's tap, a ring by PSN
	first uint32     // number of the first READ requested; valid when asked is true
	asked bool       // a READ was requested
	reads []psn.PSN  // request PSNs of the READs whose data have not all arrived in order, oldest first
}

// noReads is the space of a half-conversation without such responses.
var noReads ReadSpace

// readSpace returns the space of c to be written to.
func readSpace(c *Conversation) *ReadSpace {
	if c.Reads == &noReads {
		c.Reads = new(ReadSpace)
	}
	return c.Reads
}

// dataKept is a response that arrived ahead of EPSN. It waits until EPSN reaches it; ends is set for the last response
// of a READ.
type dataKept struct {
	waits bool
	ends  bool
	psn   psn.PSN
}

// Oldest returns the request PSN of the oldest READ whose data have not all arrived.
func (r *ReadSpace) Oldest() (p psn.PSN, ok bool) {
	if len(r.reads) == 0 {
		return 0, false
	}
	return r.reads[0], true
}

// requested records a READ or atomic.
func (r *ReadSpace) requested(p *roce.Packet) {
	if !r.asked {
		r.asked, r.first = true, p.SO.SN
	}
	if len(r.reads) < readLimit {
		r.reads = append(r.reads, p.PSN)
	}
}

// begin starts the space at a PSN, if it has not started.
func (r *ReadSpace) begin(p psn.PSN) {
	if !r.Started {
		r.Started, r.MAX, r.UNA, r.EPSN = true, p, p, p
	}
}

// before returns the number of responses before p since the first READ; 0 where it is not known.
func (r *ReadSpace) before(c *Conversation, p *roce.Packet) (n int) {
	k := psn.New(p.SO.SN - r.first)
	if !r.asked || c.MTU == 0 || int(k) >= len(r.reads) {
		return 0
	}
	for _, read := range r.reads[:k] {
		t := c.Sent(read)
		if t == nil {
			return 0
		}
		n++
		if t.Opcode.IsRead() {
			n += max(0, t.Len-1) / c.MTU
		}
	}
	return n + int(p.SO.Offset)/c.MTU
}

// observeRead sets the Relation of a READ response.
func (c *Conversation) observeRead(s *Sight) {
	if s.Pkt.Opcode.IsReadAck() || !s.Intact() {
		return
	}
	r, p := readSpace(c), s.Pkt.PSN
	if before := 0; !r.Started {
		if s.Point != trace.ResponderOut {
			before = r.before(c, s.Pkt)
		}
		r.begin(p.Add(-before))
	}
	switch {
	case s.Out && p.Less(r.MAX):
		s.Relation = Again
	case s.Out:
		s.Relation = First
	case p == r.EPSN:
		s.Relation = InOrder
	case p.Less(r.EPSN):
		s.Relation = Duplicate
	default:
		s.Relation = Ahead
		s.Kept = !r.holds(p) && !(c.rising && r.Held > 0 && p.Less(r.high))
	}
}

// updateRead advances the space by s.
func (c *Conversation) updateRead(s *Sight) {
	r, p := c.Reads, s.Pkt.PSN
	switch {
	case s.Pkt.Opcode.IsReadAck():
		if !s.Out && r.Started && r.UNA.Less(p) && p.LessEq(r.MAX) {
			r.UNA = p // the acknowledgement names the expected PSN
		}
	case s.Point == trace.ResponderOut:
		r.MAX = psn.Max(r.MAX, p.Next())
	case s.Relation == InOrder:
		c.dataInOrder(s.Pkt.Opcode.EndsMessage())
		for x := r.find(r.EPSN); x != nil && x.waits; x = r.find(r.EPSN) {
			x.waits = false
			r.Held--
			c.dataInOrder(x.ends)
		}
	case s.Kept:
		if x := r.slot(p); x != nil {
			*x = dataKept{true, s.Pkt.Opcode.EndsMessage(), p}
			if r.Held == 0 || r.high.Less(p) {
				r.high = p
			}
			r.Held++
		}
	}
}

// dataInOrder advances EPSN by one response; the last response of a READ completes the oldest open READ.
func (c *Conversation) dataInOrder(ends bool) {
	r := c.Reads
	r.EPSN = r.EPSN.Next()
	if !ends || len(r.reads) == 0 {
		return
	}
	if t := c.Sent(r.reads[0]); t != nil {
		t.Answered = true
	}
	r.reads = r.reads[:copy(r.reads, r.reads[1:])]
}

func (r *ReadSpace) holds(p psn.PSN) bool {
	x := r.find(p)
	return x != nil && x.waits
}

func (r *ReadSpace) find(p psn.PSN) *dataKept {
	if len(r.slots) == 0 {
		return nil
	}
	x := &r.slots[int(p)&(len(r.slots)-1)]
	if x.psn != p {
		return nil
	}
	return x
}

// slot returns the slot of an early response and grows the ring to hold it; nil beyond keepLimit.
func (r *ReadSpace) slot(p psn.PSN) *dataKept {
	need := p.Sub(r.EPSN) + 1
	if need > keepLimit {
		return nil
	}
	if need > len(r.slots) {
		size := max(64, len(r.slots))
		for size < need {
			size *= 2
		}
		old := r.slots
		r.slots = make([]dataKept, size)
		for _, x := range old {
			if x.waits {
				r.slots[int(x.psn)&(size-1)] = x
			}
		}
	}
	return &r.slots[int(p)&(len(r.slots)-1)]
}

// Answered reports, at the requester's tap, whether the request with p as its last PSN has been answered: by an
// acknowledgement or, for a READ, by all its data.
func (c *Conversation) Answered(p psn.PSN) bool {
	if t := c.requester.window.find(p); t != nil && apartRead(t.Opcode) {
		return t.Answered
	}
	// The window drops acknowledged requests when later ones need their slots, even a READ whose data are still
	// awaited.
	return p.Less(c.UNA) && !slices.Contains(c.Reads.reads, p)
}

// apartRead reports whether an opcode is a READ request or an atomic whose responses have a PSN space of their own.
func apartRead(o roce.Opcode) bool { return (o.IsRead() || o.IsAtomic()) && o.Class() != roce.ClassRC }

// Acknowledged returns the newest request that a response acknowledges. An ACK acknowledges the PSN that it names; a
// NAK and a selective acknowledgement name the refused or missing request, and acknowledge those before it (IBTA
// 9.7.5.1, 9.7.5.2). ok is false for a packet in the PSN space of READ responses.
func Acknowledged(p *roce.Packet) (last psn.PSN, ok bool) {
	o := p.Opcode
	switch {
	case o.NumberedApart():
		return 0, false
	case Selective(p), o == roce.Acknowledge && !p.AETH.Syndrome.IsACK():
		return p.PSN.Prev(), true
	}
	return p.PSN, true
}

// Selective reports whether a packet is an acknowledgement that names a packet in addition to the expected one.
func Selective(p *roce.Packet) bool { return p.Opcode.Layout()&roce.LayoutSACKETH != 0 }

// NamesRequest reports whether a packet is such an acknowledgement of requests: its PSN is the expected one, and its
// MSN the current one.
func NamesRequest(p *roce.Packet) bool { return Selective(p) && !p.Opcode.NumberedApart() }
