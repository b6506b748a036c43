package irn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// hold keeps packets that came early and cannot be executed before their turn, by PSN. It takes what a window holds at
// most, grows to the most that was ever kept at once, and is used again from then on.
type hold struct {
	reach   int
	slots   []int32 // by PSN, modulo their number: the index of a parcel, or 0
	parcels []parcel
	free    int32 // first of the list of unused parcels; parcel 0 is not used
}

// parcel is a kept packet with a copy of its payload.
type parcel struct {
	pkt   roce.Packet
	bytes []byte
	next  int32
}

func (h *hold) slot(p psn.PSN) *int32 { return &h.slots[int(p)&(len(h.slots)-1)] }

// put copies a packet; none with its PSN is kept, and it is less than reach ahead of the oldest.
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

// find returns the packet that is kept with a PSN, or nil. It is valid until the next put.
func (h *hold) find(p psn.PSN) *roce.Packet {
	if h.slots == nil || *h.slot(p) == 0 {
		return nil
	}
	if c := &h.parcels[*h.slot(p)]; c.pkt.PSN == p {
		return &c.pkt
	}
	return nil
}

// drop forgets the packet that is kept with a PSN, if there is one.
func (h *hold) drop(p psn.PSN) {
	if h.find(p) == nil {
		return
	}
	i := *h.slot(p)
	h.parcels[i].next = h.free
	h.free, *h.slot(p) = i, 0
}
