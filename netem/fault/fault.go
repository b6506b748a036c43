// Package fault describes scripted faults as data: which packet of which side is dropped, duplicated, delayed,
// reordered or altered.
//
// A Fault is one line of text that parses and prints back, such as "drop A psn=+2 tx=1". A Set decides about the
// packets of a run by a list of Faults and keeps the few counters for that. The caller provides the identity of a
// packet, so the package knows no wire format.
package fault

import "github.com/rdma-gauntlet/gauntlet/harness/vtime"

// Action is what a fault does to a packet.
type Action string

// The actions.
const (
	Drop      Action = "drop"    // the packet never arrives
	Duplicate Action = "dup"     // Copies more arrive after it, By apart
	Delay     Action = "delay"   // it arrives By later; successors may overtake it
	Reorder   Action = "reorder" // it arrives after Behind successors that are not themselves held back
	Corrupt   Action = "corrupt" // one bit of Field is flipped; checksums are not updated
	Rewrite   Action = "rewrite" // Field is set to Value, as a router may do; the ICRC is not updated
	Mark      Action = "mark"    // ECN becomes CE
)

// Side names the endpoint that sends a packet.
type Side string

// The two sides.
const (
	A Side = "A"
	B Side = "B"
)

// Class groups packet types by their role, so that one fault fits every protocol.
type Class string

// The classes. A packet has one at most.
const (
	Data         Class = "DATA"      // SEND and WRITE packets, READ requests, atomics
	ACK          Class = "ACK"       // positive acknowledgements of any encoding
	NAK          Class = "NAK"       // negative acknowledgements with a code, selective ones included
	RNR          Class = "RNR"       // receiver not ready
	ReadResponse Class = "READ_RESP" // READ and atomic responses
	CM           Class = "CM"        // connection management
	FEC          Class = "FEC"       // repair and negotiation packets of an error-correcting shim
)

// Identity identifies a packet for a decision; the caller fills it in from the headers.
type Identity struct {
	QP     int    // index of the connection, -1 when it is unknown
	PSN    uint32 // PSN on the wire, 24 bits; of a repair packet the PSN of the first packet that it protects
	Offset int    // signed distance of PSN from the start PSN of its direction
	Type   string // opcode name such as "WRITE_MIDDLE"
	Class  Class
}

// Field names a part of a frame that a fault alters.
type Field string

// The fields of Corrupt.
const (
	AnyField Field = "any"    // any bit from the IP header on
	IP       Field = "ip"     // the IP header
	UDP      Field = "udp"    // the UDP header
	BTH      Field = "bth"    // the base transport header
	Opcode   Field = "opcode" // BTH: opcode
	PSN      Field = "psn"    // BTH: packet sequence number
	DestQP   Field = "qpn"    // BTH: destination QP
	Ext      Field = "ext"    // the extended headers
	// Payload is the payload, padding excluded; of a TCP segment the data, after which the checksum is updated.
	Payload Field = "payload"
	ICRC    Field = "icrc" // the invariant CRC
)

// The fields of Rewrite: those that the ICRC does not cover because routers change them (IBTA annex A17.3.3).
const (
	TTL    Field = "ttl"    // IPv4 time to live, IPv6 hop limit
	TOS    Field = "tos"    // the whole byte: DSCP and ECN
	DSCP   Field = "dscp"   // the upper six bits of it
	ECN    Field = "ecn"    // the lower two bits of it
	Flow   Field = "flow"   // IPv6 flow label
	UDPSum Field = "udpsum" // UDP checksum
	FECN   Field = "fecn"   // BTH forward congestion notification
	BECN   Field = "becn"   // BTH backward congestion notification
	Resv8a Field = "resv8a" // BTH byte 4: FECN, BECN and the six reserved bits
)

// AnyQP matches every connection.
const AnyQP = -1

// Every, as a Count, makes a fault hit every match.
const Every = -1

// Span is a range of PSN offsets, both ends included. Its zero value is any PSN.
type Span struct {
	Given    bool
	From, To int
}

// At returns the span of the single offset n.
func At(n int) Span { return Span{Given: true, From: n, To: n} }

// Fault is one scripted fault: its action, and the packets that it hits. A packet matches when it meets every given
// criterion; of the matching packets, Count are hit, from the Nth on.
type Fault struct {
	Action Action
	From   Side
	QP     int    // index of the connection, or AnyQP
	PSN    Span   // offsets from the start PSN; without a Type packets of the class FEC never match
	Tx     int    // the n-th transmission of the same packet; 0 is any
	Type   string // an opcode name or a Class; empty is any
	Nth    int    // the first matching packet that is hit; 0 and 1 are the first
	Count  int    // number of packets that are hit; Every, or 0 for the default: see Limit

	By     vtime.Duration // Delay: added time. Duplicate: distance of the copies, 0 is back to back
	Behind int            // Reorder: successors that pass first
	Copies int            // Duplicate: extra copies
	Field  Field          // Corrupt, Rewrite
	Value  int            // Rewrite
}

// Limit returns the maximum number of packets that the fault hits, or Every. Without a Count the default is every match
// when Tx is given, because Tx selects one transmission of each packet; otherwise as many as PSN names, or one.
func (f Fault) Limit() int {
	switch {
	case f.Count != 0:
		return f.Count
	case f.Tx != 0 && f.Nth == 0:
		return Every
	case f.PSN.Given && f.Nth == 0:
		return f.PSN.To - f.PSN.From + 1
	}
	return 1
}

// fits reports whether the packet meets the criteria that need no counter.
func (f *Fault) fits(from Side, id *Identity) bool {
	return f.From == from &&
		(f.QP == AnyQP || f.QP == id.QP) &&
		(!f.PSN.Given || f.PSN.From <= id.Offset && id.Offset <= f.PSN.To && (id.Class != FEC || f.Type != "")) &&
		(f.Type == "" || f.Type == id.Type || f.Type == string(id.Class))
}
