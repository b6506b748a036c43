package lowar

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// decoder passes the packets of one stream up to the engine above in order, those that were lost and repaired among
// them: "maintaining the sequence as if there were no losses occurred" (IV-A).
//
// While it tracks, next is what the engine above lacks, and the current block is [base, base+r), or shorter once its
// end is known. Packets behind a hole wait in the ROB. When the hole cannot be filled everything goes up as it is, and
// the decoder stops tracking (bypass) until next itself comes.
//
//	packet is        tracking                                    bypass
//	before next      up                                          up
//	next             up, and what waits behind it                up, and track again: it begins a block
//	in the block     wait                                        up
//	of a later one   give up: what waits goes up, and it too     up
//
//	repair packet    tracking
//	lacks nothing    ignored
//	lacks one        makes that packet, which then comes as above
//	lacks more       give up
//
// Whatever goes wrong here costs a repair and never the connection: each packet that comes goes up, at the latest after
// T_rob, and a packet that is made goes up only if it is the one that was sent.
type decoder struct {
	host  *Host
	up    engine.Engine // above the shim
	qpn   uint32
	pkey  uint16
	mtu   int
	size  int // of a unit
	code  code
	reads *readRanges // what is expected, in a stream of READ responses; nil for requests
	keeps bool        // the engine above keeps what comes early

	bypass bool
	next   psn.PSN
	block
	deadline vtime.Time // when the oldest packet in the ROB has waited for T_rob; counts while some wait

	soon announced
	tell report

	recovered, failed, ignored, refused int64
}

// block is what is known of the current coding block. A decoder has one: repair packets follow their block, so when the
// next begins nothing can be made of the last any more. That bounds what a connection keeps "since it only maps packets
// within a coding block, rather than the entire BDP" (IV-B2).
type block struct {
	base    psn.PSN
	end     int     // packets in it; 0 until its last packet or a repair packet tells
	top     int     // positions up to the last that came
	arrived bitmap  // positions that came or were recovered
	lost    bitmap  // positions that did not come
	held    []int32 // positions to places in the ROB; none where nothing waits
	waiting int     // places in use
	units   []int32 // one for each residue of c that a packet came for, or lacking
}

// announced is a change of r and c that takes effect with the block that begins at first or later.
type announced struct {
	pending bool
	code    code
	first   psn.PSN
	epoch   uint8 // the newest that is known
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
	none    = int32(-1) // an index that is not set
	lacking = int32(-2) // the unit of a residue of which a packet could not be added: it can repair nothing
)

// data takes a coded packet. "Every incoming data packet will be XORed with its decoding unit in the Decoding Buffer."
// (IV-B2)
func (d *decoder) data(now vtime.Time, p *roce.Packet) {
	ahead, at := p.PSN.Sub(d.next), p.PSN.Sub(d.base)
	switch {
	case d.reads != nil && d.reads.empty():
		// Nothing is expected: the answer of a READ that is complete comes again.
		d.up.HandlePacket(now, p)
	case ahead < 0:
		// The engine above has it, or had it and refused it. Either way what it does with a duplicate is its own
		// affair.
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
		// Not in the paper: repair packets follow their block at once, so when a later block comes none is to be waited
		// for.
		d.fail(now)
		d.later(now, p)
	case !d.arrived.has(at):
		d.record(p, at)
		d.hold(now, p, at)
	default:
		// It waits already. Passed up, the copy would look like a gap.
	}
}

// within reports whether a packet at position at belongs to the current block. A message begins a block (IV-B1).
func (d *decoder) within(p *roce.Packet, at int) bool {
	return at >= 0 && at < d.code.r && (d.end == 0 || at < d.end) && (at == 0 || !p.Opcode.StartsMessage())
}

// record adds a packet to its unit and marks it: update-style, so that of the packet itself nothing has to be kept.
// When no unit is free, or the packet is longer than one of this path can be, the others of its residue cannot be
// repaired any more, and the block is not given up for that: they may all come.
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

// advance passes up the packet with PSN next and what waited for it.
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
	d.deadline = now.Add(d.host.cfg.tRob) // for what waits behind the next hole
	if n := d.next.Sub(d.base); n >= d.code.r || d.end > 0 && n >= d.end {
		d.open(d.next)
	}
}

// step moves next past one packet, and in READ responses past the end of a READ to the beginning of the following:
// between two READs there may be requests whose PSNs no response has.
func (d *decoder) step() {
	d.next = d.next.Next()
	if d.reads != nil {
		d.next = d.reads.after(d.next)
	}
}

// hold keeps a packet in the ROB until the hole before it is filled, or T_rob is over: "Out-of-order data packets are
// temporarily saved to the Reordering Buffer (ROB)" (IV-A).
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

// release passes up the packet that waits at a position.
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

// dissolve ends the current block: it is counted, and what it holds is given back. Nothing waits any more when a block
// is complete or was given up; what still does belongs to a transmission that the sender has broken off.
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

// restart begins a block with the packet that has PSN next: the retransmission that bypass waits for, or a packet that
// says that the sender began a block here. In the second case the sender went back, and what still waits comes again.
func (d *decoder) restart(now vtime.Time, p *roce.Packet) {
	d.bypass = false
	d.open(p.PSN)
	d.record(p, 0)
	d.advance(now, p)
}

// fail gives up the current block: "If a coding block fails to repair or triggers a timeout in ROB, LoWAR will pass it
// to RDMA stacks to activate GBN retransmission and stop tracking the connection until its retransmission arrives."
// (IV-B2) What waits goes up in the order of PSNs, holes and all.
//
// Not in the paper: above an engine that keeps what comes early only the missing packet will be sent again, so there
// tracking goes on behind the block.
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

// skip goes on at p, whatever is missing before it: the engine above has asked for that, and will get it as duplicates
// of what the decoder takes for gone by.
func (d *decoder) skip(p psn.PSN) {
	d.next = psn.Max(d.next, p)
	d.open(d.next)
}

// later goes on after a failure with a packet that lies behind the hole. Where tracking goes on, it begins a block
// here; when the sender's begins elsewhere, the next repair packet tells.
func (d *decoder) later(now vtime.Time, p *roce.Packet) {
	if !d.keeps || p.PSN.Less(d.next) {
		d.up.HandlePacket(now, p)
		return
	}
	d.skip(p.PSN)
	d.record(p, 0)
	d.advance(now, p)
}

// uncoded takes a packet of the stream that is not coded and occupies span PSNs: a READ request or an atomic. It is a
// message of its own, so that the block before it has ended; what is missing there, or is itself not coded, no repair
// will bring.
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

// expire gives up a block that has waited for T_rob. With traffic behind it a later block comes first; this is for the
// end of it, where the transport's own timer would take much longer.
func (d *decoder) expire(now vtime.Time) {
	if d.waiting > 0 && d.deadline <= now {
		d.fail(now)
	}
}

// hush forgets what waits: the QP failed.
func (d *decoder) hush() {
	d.dissolve()
	d.bypass = true
}
