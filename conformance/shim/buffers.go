package shim

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Buffers are the resources of a NIC that all decoders of an endpoint share: coding units and slots of the reorder
// buffer. units and slot count the free ones.
type Buffers struct {
	known        bool
	units, slot  int
	most, wanted int // all units, and the units that the decoders may want at once
	slots, wish  int // all slots, and the slots that they may want at once

	waiting []*Decoder // the decoders that hold packets, and some that did
	due     vtime.Time // no hole is given up earlier; valid while one waits
}

// Scarce reports whether what one decoder holds may be what another lacks.
func (b *Buffers) Scarce() bool { return b.wanted > b.most || b.wish > b.slots }

// wait adds a decoder that begins to hold packets to the waiting ones.
func (b *Buffers) wait(d *Decoder) {
	if !slices.Contains(b.waiting, d) {
		b.waiting = append(b.waiting, d)
	}
	if at := d.deadline(); len(b.waiting) == 1 || at < b.due {
		b.due = at
	}
}

// first drops the decoders that hold nothing any more, and returns the one whose hole is given up first; nil when none
// holds packets.
func (b *Buffers) first() (first *Decoder) {
	b.waiting = slices.DeleteFunc(b.waiting, func(d *Decoder) bool { return d.Held == 0 })
	for _, d := range b.waiting {
		if first == nil || d.deadline() < first.deadline() {
			first = d
		}
	}
	if first != nil {
		b.due = first.deadline()
	}
	return first
}

// Expire gives up the holes that are older than T_rob, in the order of their deadlines, on all connections of an
// endpoint: the packets behind them occupy the reorder buffer that the connections share, whether or not another packet
// of their own connection is seen.
func (b *Buffers) Expire(now vtime.Time) {
	for len(b.waiting) > 0 && b.due <= now {
		if d := b.first(); d != nil && b.due <= now {
			d.fail(FailedTime, b.due)
		}
	}
}

// Ends are the buffers of both endpoints, by side.
type Ends [2]Buffers

// Expire advances the clock of all decoders.
func (b *Ends) Expire(now vtime.Time) {
	for side := range b {
		b[side].Expire(now)
	}
}
