package irn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// hold keeps out-of-order packets that cannot be executed before all earlier packets, by PSN. It holds at most one
// window. Its memory grows to the largest number of packets ever held at once, and is reused.
type hold struct {
	reach   int      // PSNs that a window spans: the BDP cap
	slots   []int32  // index in parcels of the packet with a PSN, at the PSN modulo len(slots); 0 if none
	parcels []parcel // parcels[0] is not used
	free    int32    // head of the list of unused parcels; 0 if empty
}

// parcel is a held packet with a copy of its payload.
type parcel struct {
	pkt   roce.Packet
	bytes []byte // buffer for the payload, reused
	next  int32  // next unused parcel; meaningful in the free list only
}

func (h *hold) slot(p psn.PSN) *int32 { return &h.slots[int(p)&(len(h.slots)-1)] }

// put stores a copy of p. No packet with its PSN is held, and p is less than reach PSNs ahead of the oldest held
// packet.
func (h *hold) put(p *roce.Packet) {
	if h.slots == nil {
		n := 64
		for n < h.reach {
			n *= 2
		}
		h.slots, h.parcels = make([]int32, n), make([]parcel, 1)
	}
	i := h.free
	if i == 0 {
		i = int32(len(h.parcels))
		h.parcels = append(h.parcels, parcel{})
	}
	c := &h.parcels[i]
	h.free = c.next
	c.pkt, c.next = *p, 0
	if p.Payload != nil {
		c.bytes = append(c.bytes[:0], p.Payload...)
		c.pkt.Payload = c.bytes
	}
	*h.slot(p.PSN) = i
}

// find returns the held packet with PSN p, or nil. The result is valid until the next put.
func (h *hold) find(p psn.PSN) *roce.Packet {
	if h.slots == nil || *h.slot(p) == 0 {
		return nil
	}
	if c := &h.parcels[*h.slot(p)]; c.pkt.PSN == p {
		return &c.pkt
	}
	return nil
}

// drop removes the held packet with PSN p, if any.
func (h *hold) drop(p psn.PSN) {
	if h.find(p) == nil {
		return
	}
	i := *h.slot(p)
	h.parcels[i].next = h.free
	h.free, *h.slot(p) = i, 0
}
