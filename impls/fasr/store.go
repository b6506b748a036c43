package fasr

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// shelf is the memory in which all QPs of an endpoint keep packets that came out of order, the reorder buffer in host
// memory. It grows to the most that was ever kept at once and is used again from then on.
type shelf struct {
	parcels []parcel
	free    int32 // first of the list of unused parcels; 0 is none, and parcel 0 is not used
}

// parcel is a kept packet with a copy of its payload.
type parcel struct {
	pkt   roce.Packet
	bytes []byte
	next  int32
}

// store is the packets of one receiver that came out of order, in PSN order. What a receiver records is always the
// highest so far, and it goes in order; so a store is a queue and needs no search.
type store struct {
	shelf      *shelf
	head, tail int32
	n          int
}

// put copies a packet to the end.
func (s *store) put(p *roce.Packet) {
	i := s.shelf.take()
	c := &s.shelf.parcels[i]
	c.pkt, c.next = *p, 0
	if p.Payload != nil {
		c.bytes = append(c.bytes[:0], p.Payload...)
		c.pkt.Payload = c.bytes
	}
	if s.n == 0 {
		s.head = i
	} else {
		s.shelf.parcels[s.tail].next = i
	}
	s.tail = i
	s.n++
}

// before returns the oldest packet when its PSN is before limit, else nil. It is valid until the next put.
func (s *store) before(limit psn.PSN) *roce.Packet {
	if s.n == 0 {
		return nil
	}
	if p := &s.shelf.parcels[s.head].pkt; p.PSN.Less(limit) {
		return p
	}
	return nil
}

// drop removes the oldest packet.
func (s *store) drop() {
	i := s.head
	s.head = s.shelf.parcels[i].next
	s.n--
	s.shelf.give(i)
}

// clear removes all packets.
func (s *store) clear() {
	for s.n > 0 {
		s.drop()
	}
}

func (s *shelf) take() int32 {
	if s.free == 0 {
		if len(s.parcels) == 0 {
			s.parcels = append(s.parcels, parcel{})
		}
		s.parcels = append(s.parcels, parcel{})
		return int32(len(s.parcels) - 1)
	}
	i := s.free
	s.free = s.parcels[i].next
	return i
}

func (s *shelf) give(i int32) {
	s.parcels[i].next = s.free
	s.free = i
}
