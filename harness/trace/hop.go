package trace

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
)

// Hop is the part of the path to which a connection of the header belongs. A middlebox in the path divides every
// connection into two hops. Each hop is a connection of its own, with records, taps at its two ends, and verdicts. The
// box is end B of a LAN hop and end A of a WAN hop.
type Hop uint8

// The hops.
const (
	Whole  Hop = iota // no box: from A to B
	LANHop            // from A to the box
	WANHop            // from the box to B
)

var hopNames = [...]string{"", "lan", "wan"}

// String returns "lan" or "wan", or "" for a whole path.
func (h Hop) String() string {
	if int(h) < len(hopNames) {
		return hopNames[h]
	}
	return "hop?"
}

// ParseHop returns the hop with a name that String returns.
func ParseHop(name string) (Hop, bool) {
	i := slices.Index(hopNames[:], name)
	return Hop(max(i, 0)), i >= 0
}

// Box returns the side of a hop at which the box is; ok is false when there is none.
func (h Hop) Box() (side Side, ok bool) {
	switch h {
	case LANHop:
		return B, true
	case WANHop:
		return A, true
	}
	return A, false
}

// Divided reports whether the trace is of a path with a middlebox in it. Its connections are then the LAN hops of all,
// and after them the WAN hops in the same order.
func (h *Header) Divided() bool { return len(h.Conns) > 0 && h.Conns[0].Hop != Whole }

// Twin returns the other hop of connection i; -1 when it has none.
func (h *Header) Twin(i int) int {
	half := len(h.Conns) / 2
	switch {
	case i < 0 || i >= len(h.Conns) || h.Conns[i].Hop == Whole:
		return -1
	case i < half:
		return i + half
	}
	return i - half
}

// On returns the hop that a record or event of connection i was seen on.
func (h *Header) On(i int) Hop {
	if i < 0 || i >= len(h.Conns) {
		return Whole
	}
	return h.Conns[i].Hop
}

// Divide makes two hops of every connection, for a path with a middlebox in it. On the LAN the box takes the place of B
// with B's attributes, on the WAN the place of A with the attributes that acts returns for A's.
func (h *Header) Divide(acts func(engine.QP) engine.QP) {
	n := len(h.Conns)
	for i := range n {
		wan := h.Conns[i]
		h.Conns[i].Hop, wan.Hop = LANHop, WANHop
		h.Conns[i].Ends[B].QP.Access = engine.AllAccess // the box cannot know what B refuses
		wan.Ends[A].QP = acts(wan.Ends[A].QP)
		h.Conns = append(h.Conns, wan)
	}
}
