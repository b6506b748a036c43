package lowar

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// decoder delivers the packets of one stream to the engine above in PSN order, including the lost packets that it
// recovers: "maintaining the sequence as if there were no losses occurred" (IV-A).
//
// While the decoder tracks the stream, next is the PSN that the engine above expects, and the current block is
// [base, base+r), or shorter once its end is known. Packets after a hole wait in the ROB. If the hole cannot be filled,
// the waiting packets are delivered with the hole, and the decoder stops tracking (bypass) until next itself arrives.
//
//	packet with PSN    tracking                                      bypass
//	before next        deliver                                       deliver
//	next               deliver, with the waiting packets after it    deliver, and track again from a new block
//	in the block       wait in the ROB                               deliver
//	in a later block   give up: deliver the waiting packets and it   deliver
//
//	repair packet whose unit lacks    tracking
//	no packet                         ignored
//	one packet                        recover that packet, then as above
//	more packets                      give up
//
// An error of the decoder costs a repair and never the connection: each packet that arrives is delivered, at the latest
// after T_rob, except copies of waiting packets, and a recovered packet is delivered only if its check value matches.
type decoder struct {
	host  *Host
	up    engine.Engine // the half of the engine above
	qpn   uint32        // DestQP of the packets of this stream
	pkey  uint16
	mtu   int
	size  int         // bytes of a coding unit
	code  code        // (r, c) of the current block
	reads *readRanges // PSNs expected in a stream of READ responses; nil for requests
	keeps bool        // the engine above keeps out-of-order packets

	bypass bool    // the stream is not tracked until next arrives
	next   psn.PSN // lowest PSN not delivered in order
	block
	deadline vtime.Time // time at which the current block is given up; meaningful while waiting > 0

	soon announced
	tell report

	recovered int64 // packets recovered
	failed    int64 // blocks given up
	ignored   int64 // shim packets without effect: malformed, in bypass, or of other parameters
	refused   int64 // recovered packets that failed their check
}

// block is the state of the current coding block. A decoder has only one: repair packets follow their block, so no
// repair is possible once the next block has begun. This bounds the state of a connection "since it only maps packets
// within a coding block, rather than the entire BDP" (IV-B2). A position is a PSN relative to base.
type block struct {
	base    psn.PSN // first PSN of the block
	end     int     // packets in the block; 0 until its last packet or a repair packet has arrived
	top     int     // position after the highest that arrived or was given up
	arrived bitmap  // positions that arrived or were recovered
	lost    bitmap  // positions that were recovered or given up
	held    []int32 // index in the ROB of the packet at a position; none if no packet waits
	waiting int     // packets of the block in the ROB
	units   []int32 // decoding unit of each residue of c: its index, none before the first packet, or lacking
}

// announced is a change of r and c that takes effect with the first block that begins at first or later.
type announced struct {
	pending bool // the change has not taken effect yet
	code    code
	first   psn.PSN
	epoch   uint8 // newest generation of parameters received
}

func newDecoder(h *Host, up engine.Engine, qp *engine.QP, first psn.PSN, keeps bool) decoder {
	d := decoder{host: h, up: up, qpn: qp.QPN, pkey: qp.PKey, mtu: qp.MTU, size: unitSize(qp.MTU), code: h.cfg.recv,
		keeps: keeps, next: first, tell: report{on: h.cfg.adaptive, bdp: h.cfg.bdp, window: uint32(h.cfg.window)}}
	d.resize()
	d.open(first)
	return d
}

// resize makes room for a block of the current code.
func (d *decoder) resize() {
	for len(d.held) < d.code.r {
		d.held = append(d.held, none)
	}
	for len(d.units) < d.code.c {
		d.units = append(d.units, none)
	}
}

const (
	none    = int32(-1) // no index
	lacking = int32(-2) // unit of a residue of which a packet could not be added, so that no repair is possible
)

// data processes a coded packet. "Every incoming data packet will be XORed with its decoding unit in the Decoding
// Buffer." (IV-B2)
func (d *decoder) data(now vtime.Time, p *roce.Packet) {
	ahead, at := p.PSN.Sub(d.next), p.PSN.Sub(d.base)
	switch {
	case d.reads != nil && d.reads.empty():
		// No response is expected: this is a duplicate response to a completed READ.
		d.up.HandlePacket(now, p)
	case ahead < 0:
		// The packet was delivered before; the engine above handles the duplicate.
		if !d.bypass && d.within(p, at) {
			d.record(p, at)
		}
		d.up.HandlePacket(now, p)
	case d.bypass && ahead > 0:
		d.up.HandlePacket(now, p)
	case d.bypass || ahead == 0 && !d.within(p, at):
		d.restart(now, p)
	case ahead == 0:
		d.record(p, at)
		d.advance(now, p)
	case !d.within(p, at):
		// Not in the paper: repair packets follow their block at once, so after a packet of a later block none can
		// arrive any more.
		d.fail(now)
		d.later(now, p)
	case !d.arrived.has(at):
		d.record(p, at)
		d.hold(now, p, at)
	default:
		// A copy of a waiting packet. Delivered, the copy would look like a gap to the engine above.
	}
}

// within reports whether a packet at position at belongs to the current block. The first packet of a message begins a
// new block (IV-B1).
func (d *decoder) within(p *roce.Packet, at int) bool {
	return at >= 0 && at < d.code.r && (d.end == 0 || at < d.end) && (at == 0 || !p.Opcode.StartsMessage())
}

// record marks a packet as arrived and adds it to the sum in its unit, so that no copy of the packet is needed for a
// repair. If no unit is free, or the packet is longer than a unit, no packet of the same residue can be repaired any
// more; the block is not given up, because its packets may all arrive.
func (d *decoder) record(p *roce.Packet, at int) {
	if d.arrived.has(at) {
		return
	}
	d.arrived.set(at)
	d.top = max(d.top, at+1)
	if p.Opcode.EndsMessage() {
		d.end = at + 1
	}
	u := &d.units[at%d.code.c]
	raw := d.host.image(p)
	if *u == none {
		if i, ok := d.host.decoding.bindOne(d.size); ok {
			*u = i
		} else {
			*u = lacking
		}
	}
	switch {
	case *u == lacking:
	case len(raw) > d.size:
		d.host.decoding.release(d.units[at%d.code.c:][:1])
		*u = lacking
	default:
		d.host.decoding.all[*u].add(raw)
	}
}

// advance delivers the packet with PSN next and the waiting packets that follow it without a gap.
func (d *decoder) advance(now vtime.Time, p *roce.Packet) {
	d.step()
	d.up.HandlePacket(now, p)
	for {
		at := d.next.Sub(d.base)
		if at < 0 || at >= len(d.held) || d.held[at] == none {
			break
		}
		d.step()
		d.release(now, at)
	}
	d.deadline = now.Add(d.host.cfg.tRob) // for packets that wait behind the next hole
	if n := d.next.Sub(d.base); n >= d.code.r || d.end > 0 && n >= d.end {
		d.open(d.next)
	}
}

// step moves next past one packet. In a stream of READ responses it moves next from the end of a READ to the beginning
// of the following READ, past the PSNs of requests between them.
func (d *decoder) step() {
	d.next = d.next.Next()
	if d.reads != nil {
		d.next = d.reads.after(d.next)
	}
}

// hold keeps a packet in the ROB until the hole before it is filled, or T_rob has passed: "Out-of-order data packets
// are temporarily saved to the Reordering Buffer (ROB)" (IV-A).
func (d *decoder) hold(now vtime.Time, p *roce.Packet, at int) {
	slot, ok := d.host.rob.put(p)
	if !ok {
		d.fail(now)
		d.later(now, p)
		return
	}
	if d.waiting == 0 {
		d.deadline = now.Add(d.host.cfg.tRob)
	}
	d.held[at] = slot
	d.waiting++
}

// release delivers the packet that waits at position at.
func (d *decoder) release(now vtime.Time, at int) {
	slot := d.held[at]
	d.held[at] = none
	d.waiting--
	d.up.HandlePacket(now, d.host.rob.take(slot))
}

// open begins a block at p; units of the one before are "re-enqueued into the queue with binds dissolved" (Appendix).
func (d *decoder) open(p psn.PSN) {
	d.dissolve()
	if d.soon.pending && d.soon.first.LessEq(p) {
		d.code, d.soon.pending = d.soon.code, false
		d.resize()
	}
	d.base, d.end = p, 0
	d.arrived.clear()
}

// dissolve ends the current block: it counts the losses of the block and frees its units. No packet waits when a block
// is complete or was given up; a packet that still waits belongs to a transmission that the sender has aborted, and is
// dropped.
func (d *decoder) dissolve() {
	if d.top > 0 {
		d.tell.saw(d.top, &d.lost)
		d.lost.clear()
		d.top = 0
	}
	for i, u := range d.units {
		if u >= 0 {
			d.host.decoding.release(d.units[i : i+1])
		}
		d.units[i] = none
	}
	for at := 0; d.waiting > 0; at++ {
		if d.held[at] != none {
			d.host.rob.take(d.held[at])
			d.held[at] = none
			d.waiting--
		}
	}
}

// restart begins a block with the packet that has PSN next: the retransmission that ends bypass, or a packet by which
// the sender begins a block here. In the second case the sender went back, and retransmits the packets that still wait.
func (d *decoder) restart(now vtime.Time, p *roce.Packet) {
	d.bypass = false
	d.open(p.PSN)
	d.record(p, 0)
	d.advance(now, p)
}

// fail gives up the current block: "If a coding block fails to repair or triggers a timeout in ROB, LoWAR will pass it
// to RDMA stacks to activate GBN retransmission and stop tracking the connection until its retransmission arrives."
// (IV-B2) The waiting packets are delivered in PSN order, with the holes between them.
//
// Not in the paper: for an engine that keeps out-of-order packets only the missing packets are retransmitted, so that
// tracking continues after the block.
func (d *decoder) fail(now vtime.Time) {
	d.failed++
	behind := d.end
	for at := 0; d.waiting > 0; at++ {
		if d.held[at] != none {
			d.release(now, at)
			behind = max(behind, at+1)
		}
	}
	d.top = max(d.top, behind)
	for at := range d.top {
		if !d.arrived.has(at) {
			d.lost.set(at)
		}
	}
	if !d.keeps {
		d.dissolve()
		d.bypass = true
		return
	}
	d.skip(d.base.Add(behind))
}

// skip continues tracking at p. The engine above asks the peer for the packets missing before p, and the decoder
// delivers their retransmissions as packets before next.
func (d *decoder) skip(p psn.PSN) {
	d.next = psn.Max(d.next, p)
	d.open(d.next)
}

// later processes a packet after the hole of a failed block. If tracking continues, a block begins at this packet; if
// the sender's block begins elsewhere, the next repair packet corrects that.
func (d *decoder) later(now vtime.Time, p *roce.Packet) {
	if !d.keeps || p.PSN.Less(d.next) {
		d.up.HandlePacket(now, p)
		return
	}
	d.skip(p.PSN)
	d.record(p, 0)
	d.advance(now, p)
}

// uncoded processes a packet of the stream that is not coded and takes span PSNs: a READ request or an atomic. Such a
// packet ends the block before it, so that packets missing before it can no longer be repaired.
func (d *decoder) uncoded(now vtime.Time, p *roce.Packet, span int) {
	if p.PSN.Sub(d.next) > 0 && !d.bypass {
		d.fail(now)
		if d.keeps {
			d.skip(p.PSN)
		}
	}
	if p.PSN == d.next {
		d.bypass = false
		d.next = p.PSN.Add(span)
		d.open(d.next)
	}
	d.up.HandlePacket(now, p)
}

// expire gives up a block that has waited for T_rob. With continuous traffic a packet of a later block does so first;
// at the end of the traffic, the transport's own timer would take much longer.
func (d *decoder) expire(now vtime.Time) {
	if d.waiting > 0 && d.deadline <= now {
		d.fail(now)
	}
}

// hush drops all waiting packets and stops tracking, because the QP failed.
func (d *decoder) hush() {
	d.dissolve()
	d.bypass = true
}
