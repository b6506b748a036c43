// Package shim models the receiving half of LoWAR, an error-correcting shim between a port and the transport above it.
package shim

import (
	"strconv"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Decoder models the receiving half of a LoWAR shim from the packets at its port. The stream that reaches the port
// differs from the stream that the shim passes up to the transport: "Once the Bitmaps confirm repair completion,
// packets in the ROB are seamlessly fed into the upper RDMA stack, maintaining the sequence as if there were no losses
// occurred" (LoWAR IV-A). The transport is judged by the second stream; otherwise a NAK would be demanded for a packet
// that was recovered. Arrivals therefore pass through a Decoder first, and the transport is seen by its output.
//
// There is one decoder per direction of data: for requests that reach the responder, and for READ responses that reach
// the requester. It uses only bytes that arrived at the port, never bytes as they were sent. It sums coding units as a
// receiver does, so a forged repair packet has the same result in both.
//
//	TRACK    In order: passed up. Behind a hole: held, while the hole may be repaired.
//	         A repair packet that lacks one packet of its unit: that packet is recovered, and the held ones follow it.
//	failure  Two packets of a unit are missing, a packet of a later block or its repair packet arrives, too many are
//	         held, or for too long: the held packets are passed up, so that the transport sees the gap.
//	BYPASS   Every packet is passed up, until the missing packet arrives.
//
// The paper leaves open how a receiver learns that the sender began a block elsewhere than expected, after a timeout.
// Here a repair packet of a complete block shows where the next block begins, and a repair packet of a block that
// contradicts the expected one ends the wait for the hole.
//
// A hole that has been held for T_rob fails at that moment by the clock of the tap. In virtual time that is the
// endpoint's clock. On a real bench the endpoint decides a little later, so it may still use a repair packet that
// arrives at that moment and that the Decoder ignores; the hole then counts as given up.
type Decoder struct {
	Tracking bool
	Next     psn.PSN   // next PSN that has not been passed up in order
	Base     psn.PSN   // first PSN of the current block
	Held     int       // packets held behind a hole
	Failures int       // blocks that could not be repaired so far
	Hole     psn.PSN   // first missing PSN of the latest block that could not be repaired
	Why      Failure   // why that block could not be repaired
	Lacking  []psn.PSN // missing packets of the unit that could not be repaired; valid when Why is FailedUnit
	Blind    bool      // the trace lacks the bytes from which the endpoint may have recovered a packet
	Divined  bool      // (r, c) were taken from a repair packet, as no announcement had come: the endpoint may not do so

	Source
	above  Transport
	asked  ranges // PSNs of READ responses that are expected
	known  bool   // Next is known
	silent bool   // the QP has failed
	scheme scheme
	soon   announced
	shared *Buffers
	deep   int // the greatest c so far: the number of units that this decoder may want
	long   int // the greatest r so far: the number of slots that it may want

	units []codingUnit // sums of the packets of the block that arrived, by position modulo c
	there []bool       // whether the packet at a position of the block arrived or was recovered
	size  int          // packets in the block; 0 until its last packet or a repair packet shows the number
	held  []*Arrival   // packets held behind the hole, by position; nil elsewhere
	since vtime.Time   // when the wait for the hole began; valid when Held > 0
	up    func(*Arrival)
}

// Defaults of the parameters: (r, c) and the bounds of the wait for a hole. They are the values of the paper's
// experiments and prototype where it gives them.
const (
	BlockSize      = 32
	Interleaving   = 1
	defaultUnits   = 1024
	defaultROB     = 2048 // "configured to accommodate up to 2048 out-of-order packets" (LoWAR V)
	defaultROBWait = 10 * vtime.Millisecond
)

// Transport is the transport above a Decoder.
type Transport interface {
	First() (p psn.PSN, known bool) // PSN of the first request
	PathMTU() int                   // in bytes; 0 when unknown
	Span(request *roce.Packet) int  // number of PSNs that a request takes
	Keeps() bool                    // the responder keeps requests that arrive out of order
}

// Source is what the data of a Decoder are, and which endpoint decodes them.
type Source struct {
	Reads    bool       // the data are READ responses, not requests
	Receiver *engine.QP // attributes of the endpoint that decodes
	Known    bool       // the attributes are in force
}

// New returns the decoder of one direction. It passes packets up by a call of up, with what is valid during the call.
func New(src Source, above Transport, shared *Buffers, up func(*Arrival)) *Decoder {
	q := src.Receiver.Params
	d := &Decoder{Source: src, above: above, shared: shared, up: up, Tracking: true}
	d.scheme = scheme{r: whole(q, "r", BlockSize), c: Depth(q), wait: defaultROBWait}
	d.scheme.r, d.scheme.c = whole(q, "recv_r", d.scheme.r), whole(q, "recv_c", d.scheme.c)
	if w, err := vtime.ParseDuration(q["t_rob"]); err == nil {
		d.scheme.wait = w
	}
	if !shared.known {
		units, slots := whole(q, "units", defaultUnits), whole(q, "rob", defaultROB)
		*shared = Buffers{known: true, units: units, slot: slots, most: units, slots: slots}
	}
	d.Deepen(d.scheme.r, d.scheme.c)
	return d
}

// Depth returns the c in the parameters of an encoder.
func Depth(params map[string]string) int { return whole(params, "c", Interleaving) }

func whole(params map[string]string, name string, def int) int {
	if n, err := strconv.Atoi(params[name]); err == nil && n > 0 {
		return n
	}
	return def
}

// Crowded reports whether the endpoint has fewer coding units than its connections may have wanted at once, each at the
// greatest c that its sender has used. The answer also holds for the other endpoint and for the encoders of these
// streams: they are as many and have as many units.
func (d *Decoder) Crowded() bool { return d.shared.wanted > d.shared.most }

// Deepen records values of r and c that the encoder uses.
func (d *Decoder) Deepen(r, c int) {
	d.shared.wanted += max(0, c-d.deep)
	d.shared.wish += max(0, r-d.long)
	d.deep, d.long = max(d.deep, c), max(d.long, r)
}

// Scheme returns the (r, c) with which the current block is decoded.
func (d *Decoder) Scheme() (r, c int) { return d.scheme.r, d.scheme.c }

// Wait returns T_rob.
func (d *Decoder) Wait() vtime.Duration { return d.scheme.wait }

// Waiting returns how long packets have been held for the current hole; zero when none are.
func (d *Decoder) Waiting(now vtime.Time) vtime.Duration {
	if d.Held == 0 {
		return 0
	}
	return now.Sub(d.since)
}

// begin sets Next at the first packet.
func (d *Decoder) begin(p psn.PSN) {
	if d.known {
		return
	}
	d.known = true
	d.Next = p
	if first, known := d.above.First(); known && !d.Reads {
		d.Next = first
	}
	d.open(d.Next)
}

// Hush ends the decoder when its QP fails: it drops held packets and frees its units and its slots in the reorder
// buffer for other connections. It passes up later packets unchanged.
func (d *Decoder) Hush() {
	d.open(d.Base)
	d.Tracking, d.silent = false, true
}

// Arrive processes a packet, other than one of LoWAR itself, that reaches the shim.
func (d *Decoder) Arrive(s *trace.Sight) {
	p := s.Pkt
	if d.silent {
		d.pass(s)
		return
	}
	if p.Opcode.IsRequest() || d.known {
		d.begin(p.PSN)
	}
	switch {
	case d.Reads && !isCoded(p.Opcode):
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
	case d.Reads && len(d.asked) == 0: // no READ response is expected
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
	case !d.there[at]: // otherwise a copy is held already
		d.record(s, at)
		d.hold(s, at, false)
	}
}

// within reports whether a packet at position at belongs to the current block. A message begins a block (LoWAR IV-B1).
func (d *Decoder) within(p *roce.Packet, at int) bool {
	return at >= 0 && at < d.scheme.r && (d.size == 0 || at < d.size) && (at == 0 || !p.Opcode.StartsMessage())
}

// advance passes up the packet at Next and the held packets that follow it, and ends the block when it is complete.
func (d *Decoder) advance(s *trace.Sight, recovered bool) {
	d.step(1)
	d.up(&Arrival{*s, recovered})
	for at := d.Next.Sub(d.Base); at >= 0 && at < len(d.held) && d.held[at] != nil; at = d.Next.Sub(d.Base) {
		d.step(1)
		d.release(at, s.At)
	}
	d.since = s.At
	if n := d.Next.Sub(d.Base); n >= d.scheme.r || d.size > 0 && n >= d.size {
		d.open(d.Next)
	}
}

// step advances Next by n; a decoder of READ responses also skips PSNs of requests without READ responses.
func (d *Decoder) step(n int) {
	d.Next = d.Next.Add(n)
	if d.Reads {
		d.Next = d.asked.after(d.Next)
	}
}

// restart begins a block with the packet at Next: the retransmission that ends BYPASS, or the first packet of a block
// that the sender began elsewhere than expected. In the second case the sender went back, and packets still held will
// be sent again.
func (d *Decoder) restart(s *trace.Sight) {
	d.Tracking = true
	d.open(s.Pkt.PSN)
	d.record(s, 0)
	d.advance(s, false)
}

// pass passes up one packet unchanged.
func (d *Decoder) pass(s *trace.Sight) { d.up(&Arrival{*s, false}) }
