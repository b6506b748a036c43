package trace

import (
	"net/netip"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

// Header says what a trace is of; it precedes the stream. Fields that nobody knew are zero: a foreign capture has
// addresses and QPNs at most.
type Header struct {
	Version int     // of the NDJSON format
	Bench   string  // "sim", "netns", "file", …
	Taps    [2]bool // which sides were tapped
	// the one tap stands between the sides, or nobody knows where: a record has Sent alone, when the packet passed the
	// tap
	Between bool
	Bytes   bool    // records carry Raw
	Dilated int     // a second of the trace lasted so many on the machine; 0 and 1 are the same
	Reports Reports // what the endpoints told beside the wire
	Conns   []Conn
}

// BehindLine reports whether the taps show a packet when the line is done with it, as in virtual time. Those of real
// interfaces show it when it is given to the line.
func (h *Header) BehindLine() bool { return h.Bench == "sim" || h.Bench == "fixture" }

// FormatVersion is the version of the NDJSON form, as package ndjson writes it.
const FormatVersion = 1

// Conn is one connection: a QP on each side.
type Conn struct {
	Ends [2]End // indexed by Side
	Hop  Hop    // which part of the path it is, when a box divides the path
	// the QPNs were used again for another connection, so that nothing, such as the MTU, holds for all packets; not
	// written
	Anew bool

	// Doubts are, by requester, what is wrong with the evidence on its requests and their answers. A bench certifies
	// its own captures; others show it themselves. It does not travel with the trace.
	Doubts [2]Doubt
}

// Doubt is properties of a capture that do not hold, and the reason.
type Doubt struct {
	Fails validity.Property // 0 when nothing is wrong
	Why   string
}

// End is one end of a connection.
type End struct {
	Addr netip.Addr
	Port uint16 // UDP source port
	Impl string // name of the implementation, "" for a foreign device
	QP   engine.QP
	// Misaddressed are QP numbers that single packets for this end bore, which fit nowhere but among its own.
	Misaddressed []uint32
	// Known says that QP holds the attributes in force. Otherwise only QPN, and what could be learnt from the wire, is
	// set, and rules that need an attribute are inconclusive.
	Known bool
	// Reports is what is known of this end beside the wire, and not of both.
	Reports Reports
}
