package irn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
)

// code is the receiver's record of one PSN, two bits of the responder's 2-bitmap. It tells whether the packet arrived,
// whether it ends its message, so that the MSN can be updated, and whether that message completes a receive (IRN 5.3).
type code uint8

const (
	absent  code = 0b00
	whole   code = 0b01 // arrived, the last of its message, without completion: WRITE, READ, atomic
	partly  code = 0b10 // arrived, not the last of its message
	waiting code = 0b11 // arrived, the last of its message, with completion: SEND, WRITE with immediate
)

// codeOf returns the code that the 2-bitmap records for a packet.
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
// When 2 arrives, expected moves to 8, the MSN increases by two, and the parked completion of 6 is released.

// receiver is the receiving side of the scheme over one PSN space: a responder has one for requests, a requester one
// for READ responses. It records arrivals and does not access packet data.
//
// Invariant: recorded PSNs are in [expected, expected+reach). expected itself is recorded only while a held packet with
// that PSN cannot be executed, for lack of a receive.
type receiver struct {
	reach    int     // PSNs from expected on that are accepted: the BDP cap
	expected psn.PSN // lowest PSN not passed yet: expectedSeq of the published logic
	b1, b2   bitmap  // high and low bit of the code of each PSN; zero outside the window
	held     int     // PSNs recorded in the bitmaps
	high     psn.PSN // highest PSN recorded; meaningful while held > 0

	filled int64 // arrivals at or below high while held > 0, which are retransmissions or reordered
}

func newReceiver(cfg *Config, first psn.PSN) receiver {
	return receiver{reach: cfg.Cap, expected: first, b1: newBitmap(cfg.Cap), b2: newBitmap(cfg.Cap)}
}

// arrival is the class of a packet by its PSN.
type arrival uint8

const (
	inOrder  arrival = iota // the expected PSN
	early                   // after the expected PSN, not recorded
	repeated                // after the expected PSN, already recorded
	old                     // before the expected PSN
	beyond                  // at least reach after the expected PSN, farther than a correct sender can be
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

// record records an early packet.
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

// pass moves expected to the next PSN and clears the record of the old one, if any.
func (r *receiver) pass() {
	if r.code(r.expected) != absent {
		r.b1.clear(r.expected)
		r.b2.clear(r.expected)
		r.held--
	}
	r.expected = r.expected.Next()
}
