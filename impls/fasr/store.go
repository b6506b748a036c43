package fasr

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// shelf is the reorder buffer in host memory, in which all QPs of an endpoint keep out-of-order packets. Its memory
// grows to the largest number of packets ever kept at once, and is reused.
type shelf struct {
	parcels []parcel // parcels[0] is not used
	free    int32    // head of the list of unused parcels; 0 if empty
}

// parcel is a stored packet with a copy of its payload.
type parcel struct {
	pkt   roce.Packet
	bytes []byte // buffer for the payload, reused
	next  int32  // next parcel in the store or in the free list; 0 at the end of the free list
}

// store holds the out-of-order packets of one receiver, in PSN order. A receiver records only packets with a new
// highest PSN, and executes packets in order, so a store is a queue and needs no search.
type store struct {
	shelf      *shelf
	head, tail int32 // oldest and newest packet in shelf.parcels; meaningful while n > 0
	n          int   // packets in the store
}

// put appends a copy of p.
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

// before returns the oldest packet if its PSN is before limit, else nil. The result is valid until the next put.
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
