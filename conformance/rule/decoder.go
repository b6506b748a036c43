package rule

import (
	"strconv"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// CodesBlocks is the feature of transports that lie on an error-correcting shim: LoWAR.
const CodesBlocks = "lowar"

// Decoder is the receiving half of a LoWAR shim, as the packets at its port determine it. What reaches the port and
// what reaches the transport above are two different streams there: "Once the Bitmaps confirm repair completion,
// packets in the ROB are seamlessly fed into the upper RDMA stack, maintaining the sequence as if there were no losses
// occurred" (LoWAR IV-A). A judge of the transport must see the second stream, or it would demand a NAK for a packet
// that was recovered. So arrivals go through here first, and everything else in this package sees what comes out.
//
// There is one decoder per direction of data: of requests that reach the responder, and of READ responses that reach
// the requester. All is derived from bytes that arrived at that port, and nothing from what was sent: units are summed
// up as a receiver sums them up, so that a forged repair packet gives here what it gives there.
//
//	TRACK    In order: passed up. Behind a hole: held, while the hole may be repaired.
//	         A repair packet that lacks one packet of its unit: that packet arrives, and what was held follows it.
//	failure  Two packets of a unit are missing, a packet of a later block comes, or its repair packet, too much is
//	         held, or for too long: what was held is passed up as it is, so that the transport sees the gap.
//	BYPASS   Everything is passed up, until the packet comes that was missing.
//
// The paper leaves open where a receiver thinks that a block begins when the sender began it elsewhere, after a
// timeout: here a repair packet whose block is whole shows where the next begins, and one of a block that cannot be
// ends the waiting.
//
// A hole that has been held for T_rob fails at that moment by the clock of the tap. In virtual time that is the
// endpoint's clock. On a real bench the endpoint decides a little later, so a repair packet that comes at that very
// moment may be taken there and not here; that hole is then judged as one that was given up.
type Decoder struct {
	Tracking  bool
	Next      psn.PSN // next PSN that has not been passed up in order
	Base      psn.PSN // first PSN of the current block
	Held      int     // packets that wait for a hole before them
	Recovered int     // packets recovered so far
	Failures  int     // blocks given up so far
	Hole      psn.PSN // what was missing when the latest one was given up
	Why       Failure // and why it was

	conv   *Conversation
	reads  bool   // of READ responses
	asked  ranges // PSNs of READ responses that are expected
	known  bool   // Next is known
	silent bool   // the QP has failed
	scheme scheme
	soon   announced
	shared *buffers
	deep   int // the deepest interleaving that was used, which so many units are for

	units []codingUnit // sums of what arrived of the block, by position modulo c
	there []bool       // packets of the block that arrived or were recovered, by position
	size  int          // packets in the block; 0 until its end, or a repair packet, has shown it
	held  []*arrival   // by position; nil where nothing waits
	since vtime.Time   // when the hole began to be waited for
	up    func(*arrival)
}

// Defaults of the parameters: (r, c) and what bounds the waiting, those of the paper's experiments and prototype where
// it has one.
const (
	BlockSize      = 32
	Interleaving   = 1
	defaultUnits   = 1024
	defaultROB     = 2048 // "configured to accommodate up to 2048 out-of-order packets" (LoWAR V)
	defaultROBWait = 10 * vtime.Millisecond
)

// newDecoder returns the decoder of one direction.
func newDecoder(c *Conversation, reads bool, shared *buffers, up func(*arrival)) *Decoder {
	q := c.PeerAttr.Params
	if reads {
		q = c.Attr.Params
	}
	d := &Decoder{conv: c, reads: reads, shared: shared, up: up, Tracking: true}
	d.scheme = scheme{r: wholeParam(q, "r", BlockSize), c: wholeParam(q, "c", Interleaving), wait: defaultROBWait}
	d.scheme.r, d.scheme.c = wholeParam(q, "recv_r", d.scheme.r), wholeParam(q, "recv_c", d.scheme.c)
	if w, err := vtime.ParseDuration(q["t_rob"]); err == nil {
		d.scheme.wait = w
	}
	if !shared.known {
		units := wholeParam(q, "units", defaultUnits)
		*shared = buffers{known: true, units: units, slot: wholeParam(q, "rob", defaultROB), most: units}
	}
	d.deepen(d.scheme.c)
	return d
}

func wholeParam(params map[string]string, name string, def int) int {
	if n, err := strconv.Atoi(params[name]); err == nil && n > 0 {
		return n
	}
	return def
}

// Crowded reports whether the endpoint has fewer units than its connections can have wanted at once, each with the
// deepest interleaving that its sender has used. It holds for the other endpoint and the encoders of these streams as
// well, which are as many and have as many units.
func (d *Decoder) Crowded() bool { return d.shared.wanted > d.shared.most }

// deepen notes an interleaving that is used.
func (d *Decoder) deepen(c int) {
	d.shared.wanted += max(0, c-d.deep)
	d.deep = max(d.deep, c)
}

// announces follows what leaves a sender: other parameters are in use there before the receiver hears of them.
func (c *Conversation) announces(p *roce.Packet) {
	h := &p.Repair
	switch {
	case c.Decoders[0] == nil || h.Type != roce.RepairAnnounce:
	case h.Responses:
		c.Decoders[1].deepen(int(h.C))
	default:
		c.Decoders[0].deepen(int(h.C))
	}
}

// Scheme returns the (r, c) with which the current block is decoded.
func (d *Decoder) Scheme() (r, c int) { return d.scheme.r, d.scheme.c }

// Wait returns T_rob, and Waiting how long the hole has been waited for.
func (d *Decoder) Wait() vtime.Duration { return d.scheme.wait }

// Waiting returns how long the current hole has been waited for; zero when nothing waits.
func (d *Decoder) Waiting(now vtime.Time) vtime.Duration {
	if d.Held == 0 {
		return 0
	}
	return now.Sub(d.since)
}

// decoderOf returns the decoder that a sight has to go through; nil when there is none, or when it would not look at
// the packet: what is damaged, or not for this QP, is dropped below it, and acknowledgements pass it by.
func (c *Conversation) decoderOf(t *trace.Sight, list int) *Decoder {
	if c.Decoders[0] == nil || t.Out || list == listForeign {
		return nil
	}
	s := Sight{Sight: *t, Point: trace.ResponderIn}
	d := c.Decoders[0]
	if t.Pkt.ToRequester() {
		d, s.Point = c.Decoders[1], trace.RequesterIn
	}
	if o := t.Pkt.Opcode; !s.Intact() || o != roce.LoWAR && !c.Addressed(&s) {
		return nil
	}
	return d
}

// decoderAt returns the decoder that side has: of requests, or of READ responses.
func (c *Conversation) decoderAt(side trace.Side) *Decoder {
	if side == c.Req {
		return c.Decoders[1]
	}
	return c.Decoders[0]
}

// begin finds the first PSN when the first packet comes.
func (d *Decoder) begin(p psn.PSN) {
	if d.known {
		return
	}
	d.known = true
	if d.Next = p; !d.reads && d.conv.Started {
		d.Next = d.conv.Start
	}
	d.open(d.Next)
}

// hush ends the decoder with its QP: what waits is dropped, and units and places in the reorder buffer are free for
// other connections. What still comes goes up as it is.
func (d *Decoder) hush() {
	d.open(d.Base)
	d.Tracking, d.silent = false, true
}

// arrive takes a packet that the shim looks at.
func (d *Decoder) arrive(s *trace.Sight) {
	p := s.Pkt
	if d.silent {
		d.pass(s)
		return
	}
	if p.Opcode.IsRequest() || d.known {
		d.begin(p.PSN)
	}
	switch {
	case d.reads && !isCoded(p.Opcode):
		d.answered(s)
		return
	case p.Opcode == roce.ReadRequest, p.Opcode.IsAtomic():
		d.uncoded(s)
		return
	case !isCoded(p.Opcode):
		d.pass(s)
		return
	}
	ahead, at := p.PSN.Sub(d.Next), p.PSN.Sub(d.Base)
	switch {
	case d.reads && len(d.asked) == 0: // nothing is expected
		d.pass(s)
	case ahead < 0:
		if d.Tracking && d.within(p, at) {
			d.record(s, at)
		}
		d.pass(s)
	case !d.Tracking && ahead > 0:
		d.pass(s)
	case !d.Tracking || ahead == 0 && !d.within(p, at):
		d.restart(s)
	case ahead == 0:
		d.record(s, at)
		d.advance(s, false)
	case !d.within(p, at):
		d.fail(FailedLater, s.At)
		d.later(s, false)
	case !d.there[at]: // otherwise it waits already
		d.record(s, at)
		d.hold(s, at, false)
	}
}

// within reports whether a packet at a position belongs to the current block. A message begins a block (LoWAR IV-B1).
func (d *Decoder) within(p *roce.Packet, at int) bool {
	return at >= 0 && at < d.scheme.r && (d.size == 0 || at < d.size) && (at == 0 || !p.Opcode.StartsMessage())
}

// advance passes up the packet at Next and what waited for it, and ends the block when it is whole.
func (d *Decoder) advance(s *trace.Sight, recovered bool) {
	d.step(1)
	d.up(&arrival{*s, recovered})
	for at := d.Next.Sub(d.Base); at >= 0 && at < len(d.held) && d.held[at] != nil; at = d.Next.Sub(d.Base) {
		d.step(1)
		d.release(at, s.At)
	}
	d.since = s.At
	if n := d.Next.Sub(d.Base); n >= d.scheme.r || d.size > 0 && n >= d.size {
		d.open(d.Next)
	}
}

// step moves Next on, and in READ responses past the PSNs of requests that have none.
func (d *Decoder) step(n int) {
	d.Next = d.Next.Add(n)
	if d.reads {
		d.Next = d.asked.after(d.Next)
	}
}

// restart begins a block with the packet that is next: the retransmission that BYPASS waits for, or a block that the
// sender began elsewhere than expected. It went back then, and what still waits comes again.
func (d *Decoder) restart(s *trace.Sight) {
	d.Tracking = true
	d.open(s.Pkt.PSN)
	d.record(s, 0)
	d.advance(s, false)
}

// pass hands one packet up as it came.
func (d *Decoder) pass(s *trace.Sight) { d.up(&arrival{*s, false}) }
