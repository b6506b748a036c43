package lowar

import (
	"crypto/subtle"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// repair takes a repair packet: "When a repair packet is received, and only one data packets that encode the repair
// packet is lost, XORing the repair packet with its corresponding decoding units will recover the lost packet. … the
// absence of the first packet in a coding block won't obstruct the entire decoding, as the decoding units used for
// recovering lost packets are specified by ISN and bPSN recorded in repair packets" (IV-B2).
func (d *decoder) repair(now vtime.Time, p *roce.Packet) {
	h := &p.Repair
	if !plausible(h) || d.bypass || !d.agrees(h) {
		d.ignored++
		return
	}
	behind := h.Base.Add(int(h.N))
	switch {
	case behind.LessEq(d.next): // no packet of its block is missing
		if behind == d.next && d.base != d.next {
			d.open(d.next) // not in the paper: the sender's block ended here, so the next block begins here
		}
	case h.Base != d.base || d.end != 0 && d.end != int(h.N):
		// The current block differs from the sender's and cannot be repaired. The repair packets of a block follow it,
		// so no more packets of the current block can be expected.
		d.fail(now)
	default:
		d.end = int(h.N)
		d.decode(now, p)
	}
}

// plausible reports whether the fields of a header are consistent. The callers use them as indices without a further
// check.
func plausible(h *roce.Repair) bool {
	return h.Version == roce.RepairVersion && code{int(h.R), int(h.C)}.valid() && h.N >= 1 && h.N <= h.R &&
		int(h.ISN) < min(int(h.C), int(h.N))
}

// agrees compares the parameters: "only if the (r, c) parameters used for decoding calculation align with that included
// in repair packets will the recovered data packets be accepted" (IV-C). A repair packet of a newer generation than any
// that was announced stands in for the announcement: "the repair header is embedded in repair packets and can be sent
// alone as a negotiation packet".
func (d *decoder) agrees(h *roce.Repair) bool {
	if (code{int(h.R), int(h.C)}) == d.code {
		return true
	}
	if newer := int8(h.Epoch-d.soon.epoch) > 0; newer || d.soon.pending && h.Epoch == d.soon.epoch {
		d.soon = announced{pending: true, code: code{int(h.R), int(h.C)}, first: h.Base.Add(int(h.N)), epoch: h.Epoch}
		if d.soon.first == d.next && !d.bypass {
			d.open(d.next)
		}
	}
	return false
}

// announce processes an ANNOUNCE, the parameters of later blocks: "the sender notifies the receiver of the (r, c) tuple
// and the packet number in the upcoming coding block to proactively adjust coding units for decoding" (IV-C).
func (d *decoder) announce(h *roce.Repair) {
	k := code{int(h.R), int(h.C)}
	if h.Version != roce.RepairVersion || !k.valid() || int8(h.Epoch-d.soon.epoch) <= 0 {
		d.ignored++
		return
	}
	d.soon = announced{pending: true, code: k, first: h.Base, epoch: h.Epoch}
	if d.base == d.next && d.waiting == 0 && !d.bypass {
		d.open(d.next)
	}
}

// decode recovers the missing packet of the unit of a repair packet, if exactly one is missing. If more are missing, no
// later packet helps, and the block is given up at once.
func (d *decoder) decode(now vtime.Time, p *roce.Packet) {
	h := &p.Repair
	lost, missing := 0, 0
	for at := int(h.ISN); at < int(h.N); at += int(h.C) {
		if !d.arrived.has(at) {
			lost, missing = at, missing+1
		}
	}
	switch {
	case missing > 1:
		d.fail(now)
	case missing == 1 && !d.recover(p, lost, &d.host.repaired):
		d.refused++
	case missing == 1:
		d.recovered++
		d.tell.recovered++
		d.arrive(now, &d.host.repaired, lost)
	}
}

// arrive processes a recovered packet like an arrived one, but does not add it to its unit, which is not needed any
// more.
func (d *decoder) arrive(now vtime.Time, p *roce.Packet, at int) {
	d.arrived.set(at)
	d.lost.set(at)
	d.top = max(d.top, at+1)
	if p.PSN == d.next {
		d.advance(now, p)
	} else {
		d.hold(now, p, at)
	}
}

// recover reconstructs into out the packet at position at from a repair packet and the sum in its unit, and reports
// whether the result passes its checks. The unit keeps its sum, because the repair packet may be forged and the genuine
// one still arrive.
func (d *decoder) recover(p *roce.Packet, at int, out *roce.Packet) bool {
	raw := append(d.host.scratch[:0], p.Payload...)
	d.host.scratch = raw
	check := p.Repair.Check
	i := d.units[at%d.code.c]
	if i == lacking || len(raw) < bthLen || len(raw) > d.size {
		return false
	}
	if i != none {
		u := &d.host.decoding.all[i]
		if u.n > len(raw) {
			return false
		}
		subtle.XORBytes(raw, raw, u.sum[:u.n])
		check -= u.check
	}
	n := d.trim(&p.Repair, at, roce.Opcode(raw[0]))
	return n <= len(raw) && zero(raw[n:]) && roce.RepairDigest(raw[:n]) == check &&
		out.DecodeTransport(raw[:n]) == nil && d.fits(&p.Repair, at, out)
}

// trim returns the length of a recovered packet. All packets of a message but the last one are full. "These edge case
// parameters ensure precise trimming of recovered packets, especially when these packets lie in the first or last of a
// message, incorporating extra RDMA transport, like RETH and AETH, or have a unique length." (IV-C)
func (d *decoder) trim(h *roce.Repair, at int, o roce.Opcode) int {
	if h.HasLast && at == int(h.N)-1 {
		return int(h.LastLen)
	}
	return o.HeaderLen() + d.mtu
}

// fits reports whether a recovered packet belongs at position at: it is of this QP, has the PSN of the position, and an
// opcode that is possible there. The driver's checks below the transport apply to arriving packets only, so fits
// repeats those that matter.
func (d *decoder) fits(h *roce.Repair, at int, p *roce.Packet) bool {
	o := p.Opcode
	return p.DestQP == d.qpn && p.PKey == d.pkey && p.TVer == 0 && p.PSN == h.Base.Add(at) &&
		coded(o) && o.IsReadResponse() == (d.reads != nil) &&
		o.StartsMessage() == (h.HasFirst && at == 0) && o.EndsMessage() == (h.HasLast && at == int(h.N)-1)
}

const bthLen = 12

// zero reports whether b is all zeros, as is the sum after the end of a recovered packet.
func zero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}

// coded reports whether the shim protects packets with opcode o: "mainly referring to WRITE and READ Response
// semantics" (IV-A), and SEND.
func coded(o roce.Opcode) bool {
	return o.Class() == roce.ClassRC && (o.IsSend() || o.IsWrite() || o.IsReadResponse())
}
