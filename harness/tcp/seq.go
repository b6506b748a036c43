package tcp

// Seq is a sequence number: 32 bits that wrap. Two of them have an order while they are less than 2^31 apart, which
// windows ensure (RFC 9293, 3.4).
type Seq uint32

// Add returns the sequence number n after s; n may be negative.
func (s Seq) Add(n int) Seq { return s + Seq(uint32(n)) }

// Sub returns the distance from t to s; negative when s is earlier.
func (s Seq) Sub(t Seq) int { return int(int32(s - t)) }

// Less reports whether s is earlier than t.
func (s Seq) Less(t Seq) bool { return s.Sub(t) < 0 }

// AtMost reports whether s is not later than t.
func (s Seq) AtMost(t Seq) bool { return s.Sub(t) <= 0 }

// In reports whether s is in [from, to).
func (s Seq) In(from, to Seq) bool { return from.AtMost(s) && s.Less(to) }

// Later returns the later of two numbers.
func Later(a, b Seq) Seq {
	if a.Less(b) {
		return b
	}
	return a
}
