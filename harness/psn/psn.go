// Package psn is 24-bit serial arithmetic: packet and message sequence numbers as InfiniBand defines them.
//
// Sequence numbers wrap after 2^24-1, and of two numbers less than 2^23 apart one is earlier (IBTA Vol 1, 9.7.2). All
// comparisons in the project go through this package; a plain "<" on a PSN is a bug that shows only at the wrap.
package psn

import "strconv"

// Mask keeps the 24 bits that go on the wire.
const Mask = 1<<24 - 1

// Half is the distance from which on order is undefined; the unacknowledged span stays below it.
const Half = 1 << 23

// PSN is a packet sequence number modulo 2^24.
type PSN uint32

// New takes the low 24 bits of x.
func New(x uint32) PSN { return PSN(x & Mask) }

// Add returns p+n modulo 2^24; n may be negative.
func (p PSN) Add(n int) PSN { return PSN((int64(p) + int64(n)) & Mask) }

// Next returns the successor of p.
func (p PSN) Next() PSN { return PSN((p + 1) & Mask) }

// Prev returns the predecessor of p.
func (p PSN) Prev() PSN { return PSN((p - 1) & Mask) }

// Sub returns the signed distance p-q, between -2^23 and 2^23-1.
func (p PSN) Sub(q PSN) int { return distance(uint32(p), uint32(q)) }

// Less reports whether p comes before q.
func (p PSN) Less(q PSN) bool { return p.Sub(q) < 0 }

// LessEq reports whether p comes before q or is q.
func (p PSN) LessEq(q PSN) bool { return p.Sub(q) <= 0 }

// In reports whether p lies in the window [from, to), which must span less than 2^23. Distances are taken from one end
// only: 2^23 away from it is before it and after it at once.
func (p PSN) In(from, to PSN) bool {
	d := p.Sub(from)
	return d >= 0 && d < to.Sub(from)
}

// String prints the number in decimal.
func (p PSN) String() string { return strconv.FormatUint(uint64(p), 10) }

// Max returns the later of the two.
func Max(p, q PSN) PSN {
	if p.Less(q) {
		return q
	}
	return p
}

// MSN is a message sequence number modulo 2^24: how many requests the responder has completed (IBTA 9.7.7).
type MSN uint32

// Add returns m+n modulo 2^24; n may be negative.
func (m MSN) Add(n int) MSN { return MSN((int64(m) + int64(n)) & Mask) }

// Next returns the successor of m.
func (m MSN) Next() MSN { return MSN((m + 1) & Mask) }

// Sub returns the signed distance m-q, between -2^23 and 2^23-1.
func (m MSN) Sub(q MSN) int { return distance(uint32(m), uint32(q)) }

// Less reports whether m comes before q.
func (m MSN) Less(q MSN) bool { return m.Sub(q) < 0 }

// String prints the number in decimal.
func (m MSN) String() string { return strconv.FormatUint(uint64(m), 10) }

// distance sign-extends the 24-bit difference: shifting left puts bit 23 in the sign bit of an int32.
func distance(a, b uint32) int { return int(int32((a-b)<<8) >> 8) }
