package lowar

import (
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// reorder is the Reordering Buffer (ROB) of an endpoint, in which packets wait for an earlier packet that may still be
// repaired: "a shared ring reordering buffer", "configured to accommodate up to 2048 out-of-order packets" (IV-B2, V).
// The decoder that put a packet there keeps its index.
type reorder struct {
	slots []waiting        // slots allocated so far; len(slots) <= most
	free  ring.Ring[int32] // indices of unused slots
	most  int              // capacity in packets
	high  int              // largest number of packets that waited at once
}

// waiting is a packet with its own copy of the payload.
type waiting struct {
	packet  roce.Packet
	payload []byte
}

func newReorder(n int) *reorder { return &reorder{most: n} }

func (b *reorder) used() int { return len(b.slots) - b.free.Len() }

// put stores a copy of p and returns its index; ok is false if the buffer is full.
func (b *reorder) put(p *roce.Packet) (at int32, ok bool) {
	if at, ok = b.free.Pop(); !ok {
		if len(b.slots) == b.most {
			return none, false
		}
		at = int32(len(b.slots))
		b.slots = append(b.slots, waiting{})
	}
	w := &b.slots[at]
	w.packet = *p
	w.payload = append(w.payload[:0], p.Payload...)
	w.packet.Payload = w.payload
	b.high = max(b.high, b.used())
	return at, true
}

// take frees slot at and returns its packet, which is valid until the next put.
func (b *reorder) take(at int32) *roce.Packet {
	b.free.Push(at)
	return &b.slots[at].packet
}
