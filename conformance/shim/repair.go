package shim

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// announced is a change of (r, c) that takes effect with the block at first, while pending is true, and the newest
// epoch announced.
type announced struct {
	pending bool
	r, c    int
	first   psn.PSN
	epoch   uint8
}

// Repair processes a LoWAR packet of this stream: a repair packet, or an announcement of new parameters.
func (d *Decoder) Repair(s *trace.Sight) {
	h := &s.Pkt.Repair
	if h.Type != roce.RepairData && h.Type != roce.RepairAnnounce || !d.known && d.Reads || d.silent {
		return
	}
	d.begin(h.Base)
	switch {
	case h.Type == roce.RepairAnnounce:
		d.announce(h)
	case !plausible(h) || !d.Tracking || !d.agrees(h):
	case h.Base.Add(int(h.N)).LessEq(d.Next): // its block is complete
		if h.Base.Add(int(h.N)) == d.Next && d.Base != d.Next {
			d.open(d.Next)
		}
	case h.Base != d.Base || d.size != 0 && d.size != int(h.N):
		d.fail(FailedLater, s.At)
	default:
		d.size = int(h.N)
		d.decode(s)
	}
}

// announce records the announced parameters of later blocks.
func (d *Decoder) announce(h *roce.Repair) {
	if h.Version != roce.RepairVersion || h.C == 0 || h.R < uint16(h.C) || int8(h.Epoch-d.soon.epoch) <= 0 {
		return
	}
	d.soon = announced{true, int(h.R), int(h.C), h.Base, h.Epoch}
	if d.Base == d.Next && d.Held == 0 && d.Tracking {
		d.open(d.Next)
	}
}

// agrees compares the parameters of a repair packet: "only if the (r, c) parameters used for decoding calculation align
// with that included in repair packets will the recovered data packets be accepted" (LoWAR IV-C). A repair packet of a
// newer epoch than any announced one counts as an announcement for the blocks after its own. The paper leaves open what
// a receiver does whose announcement was lost: it may as well go on as before, and recover nothing. One that is told to
// adapt asked for the parameters.
func (d *Decoder) agrees(h *roce.Repair) bool {
	if int(h.R) == d.scheme.r && int(h.C) == d.scheme.c {
		return true
	}
	if int8(h.Epoch-d.soon.epoch) > 0 || d.soon.pending && h.Epoch == d.soon.epoch {
		d.Divined = d.Divined || h.Epoch != d.soon.epoch && d.Receiver.Params["adaptive"] != "true"
		d.soon = announced{true, int(h.R), int(h.C), h.Base.Add(int(h.N)), h.Epoch}
		if d.soon.first == d.Next && d.Tracking {
			d.open(d.Next)
		}
	}
	return false
}

// decode recovers the packet that a repair packet can recover: "When a repair packet is received, and only one data
// packets that encode the repair packet is lost, XORing the repair packet with its corresponding decoding units will
// recover the lost packet" (LoWAR IV-B2).
func (d *Decoder) decode(s *trace.Sight) {
	at, n := d.missing(&s.Pkt.Repair)
	switch n {
	case 0:
	case 1:
		made, ok := d.recover(s, at)
		if !ok {
			return
		}
		d.there[at] = true
		if made.Pkt.PSN == d.Next {
			d.advance(made, true)
		} else {
			d.hold(made, at, true)
		}
	default:
		d.Lacking = lacking(d.Lacking[:0], d.there, &s.Pkt.Repair)
		d.fail(FailedUnit, s.At)
	}
}

// plausible reports whether the fields of a header are consistent.
func plausible(h *roce.Repair) bool {
	return h.Version == roce.RepairVersion && h.C > 0 && h.R >= uint16(h.C) && h.N > 0 && h.N <= h.R &&
		int(h.ISN) < min(int(h.C), int(h.N))
}

// missing returns the number of packets of a unit that have not arrived, and the position of the last of them.
func (d *Decoder) missing(h *roce.Repair) (at, n int) {
	for i := int(h.ISN); i < int(h.N); i += int(h.C) {
		if !d.there[i] {
			at, n = i, n+1
		}
	}
	return at, n
}

// lacking appends to out the packets of a unit that have not arrived.
func lacking(out []psn.PSN, there []bool, h *roce.Repair) []psn.PSN {
	for i := int(h.ISN); i < int(h.N); i += int(h.C) {
		if !there[i] {
			out = append(out, h.Base.Add(i))
		}
	}
	return out
}

// Yield is the result of a repair packet at a decoder.
type Yield uint8

// The yields.
const (
	YieldsNothing Yield = iota // the decoder ignores it, or its unit lacks no packet, or more than one
	YieldsPacket               // it recovers a packet
	YieldsUnsound              // the result is no packet that the sender can have sent
)

// Yields returns the result that a repair packet will have, before the decoder processes it.
func (d *Decoder) Yields(s *trace.Sight) Yield {
	h := &s.Pkt.Repair
	if !d.known || !d.Tracking || !plausible(h) || h.Base != d.Base || int(h.R) != d.scheme.r ||
		int(h.C) != d.scheme.c {
		return YieldsNothing
	}
	at, n := d.missing(h)
	if n != 1 {
		return YieldsNothing
	}
	if _, ok := d.recover(s, at); !ok {
		return YieldsUnsound
	}
	return YieldsPacket
}
