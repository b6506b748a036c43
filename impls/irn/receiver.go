package irn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
)

// code is what the receiver knows of one PSN. The responder's bitmap has two bits for it, which say beside the arrival
// whether the packet ends its message, so that the MSN can follow, and whether that message completes a receive (IRN
// 5.3).
type code uint8

const (
	absent  code = 0b00
	whole   code = 0b01 // arrived, the last of its message, without completion: WRITE, READ, atomic
	partly  code = 0b10 // arrived, not the last of its message
	waiting code = 0b11 // arrived, the last of its message, with completion: SEND, WRITE with immediate
)

// codeOf returns how the 2-bitmap records a packet.
func codeOf(s *rc.Shape) code {
	switch {
	case !s.Last:
		return partly
	case s.Completes():
		return waiting
	}
	return whole
}

// Example, packet 2 is missing, 3 to 5 are the rest of its WRITE, 6 is a SEND and 7 begins another message:
//
//	PSN        2   3   4   5   6   7
//	code       00  10  10  01  11  10
//	           ^expected
//
// When 2 comes, expected moves to 8, the MSN by two, and the completion of 6, which was parked, is released.

// receiver is the receiving side of the scheme over one sequence space: a responder has one for requests, a requester
// one for READ responses. It records what arrived and touches no data.
type receiver struct {
	reach    int     // packets from expected on that it records, the BDP cap
	expected psn.PSN // expectedSeq
	b1, b2   bitmap  // the two bits of a code
	held     int     // packets recorded
	high     psn.PSN // the highest of them

	filled int64 // arrivals below one that was recorded: retransmissions, as far as a receiver can tell
}

func newReceiver(cfg *Config, first psn.PSN) receiver {
	return receiver{reach: cfg.Cap, expected: first, b1: newBitmap(cfg.Cap), b2: newBitmap(cfg.Cap)}
}

// arrival is what a packet is to a receiver.
type arrival uint8

const (
	inOrder  arrival = iota // the expected one
	early                   // ahead of it, and new
	repeated                // ahead of it, and recorded already
	old                     // before it
	beyond                  // farther ahead than a correct sender can be
)

// arrive classifies a packet.
func (r *receiver) arrive(p psn.PSN) arrival {
	d := p.Sub(r.expected)
	switch {
	case d < 0:
		return old
	case d >= r.reach:
		return beyond
	}
	if r.held > 0 && p.LessEq(r.high) {
		r.filled++
	}
	switch {
	case d == 0:
		return inOrder
	case r.code(p) != absent:
		return repeated
	}
	return early
}

func (r *receiver) code(p psn.PSN) (c code) {
	if r.held == 0 {
		return absent
	}
	if r.b1.has(p) {
		c = 0b10
	}
	if r.b2.has(p) {
		c |= 0b01
	}
	return c
}

// record notes a packet that came early.
func (r *receiver) record(p psn.PSN, c code) {
	if c&0b10 != 0 {
		r.b1.set(p)
	}
	if c&0b01 != 0 {
		r.b2.set(p)
	}
	if r.held == 0 || r.high.Less(p) {
		r.high = p
	}
	r.held++
}

// pass moves past the expected packet, recorded or not.
func (r *receiver) pass() {
	if r.code(r.expected) != absent {
		r.b1.clear(r.expected)
		r.b2.clear(r.expected)
		r.held--
	}
	r.expected = r.expected.Next()
}
