// Package trace is what was seen of a run: one record per packet, with what became of it, and the events that the
// endpoints reported, in time order.
//
// A trace is a stream. Records arrive ordered by Record.Time, events by Event.At, and a consumer keeps no more than its
// own window; a run of 10^8 packets is never held. The same stream comes from a live bench, from a run folder and from
// any pcapng file, so whatever judges or measures it cannot tell them apart.
package trace

import (
	"net/netip"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Side is one end of a link.
type Side uint8

// The two sides. By convention A posts the work of a one-way workload.
const (
	A Side = iota
	B
)

// Other returns the opposite side.
func (s Side) Other() Side { return s ^ 1 }

// String returns "A" or "B".
func (s Side) String() string { return string('A' + rune(s)) }

// Fate is what became of a packet between the two taps.
type Fate uint8

// The fates.
const (
	Unknown   Fate = iota // one tap only: nobody looked at the other end
	Delivered             // seen at both taps with the same bytes
	Dropped               // sent and never received
	Corrupted             // received with other bytes than sent
	Injected              // received and never sent: the harness made it
)

var fateNames = [...]string{"unknown", "delivered", "dropped", "corrupted", "injected"}

// String returns the lower-case name.
func (f Fate) String() string {
	if int(f) < len(fateNames) {
		return fateNames[f]
	}
	return "fate?"
}

// Integrity is the state of a packet's invariant CRC.
type Integrity uint8

// The states. Unchecked means that no bytes were there to check: a large virtual-time run carries lengths only.
const (
	Unchecked Integrity = iota
	Good
	Bad
)

// Record is one packet. Copies that the link made of it are records of their own with Copy set.
//
// Records handed to a Sink are valid during the call only; whoever keeps one copies it (Clone).
type Record struct {
	Sent      vtime.Time // last bit left the sender's port; vtime.Never when the sender's tap did not see it
	Recv      vtime.Time // last bit reached the receiver's port; vtime.Never when the receiver's tap did not see it
	From      Side
	Conn      int // index in Header.Conns, -1 when it belongs to none
	Fate      Fate
	Copy      bool   // an additional copy made by the link; the original is another record
	Cause     string // who changed its fate: "loss", "queue", "drop[0]", "corrupt[2]", ""; from a fixed set per run
	Packet    roce.Packet
	Sum       uint32    // CRC-32 of the payload as sent; 0 when there are no bytes
	ICRC      Integrity // as sent
	WireBytes int       // layer-1 length: preamble, FCS and inter-frame gap included
	Raw       []byte    // the frame as sent, from the Ethernet header, without FCS; nil when not captured
	Defect    string    // why Raw does not decode, naming the field; "" when it does
	Changed   *Change   // what the receiver saw, when it differs from what was sent
}

// Change is the received form of a packet that did not arrive as sent: corrupted, or rewritten in transit.
type Change struct {
	Packet roce.Packet
	Sum    uint32
	ICRC   Integrity
	Raw    []byte
	Defect string
}

// Time is the position of the record in the stream: when it was first seen at either tap.
func (r *Record) Time() vtime.Time { return min(r.Sent, r.Recv) }

// Lost reports whether the packet never reached its receiver in a form that its transport can use: dropped, damaged, or with a
// port or protocol that another one listens to.
func (r *Record) Lost() bool {
	if r.Changed == nil {
		return r.Fate == Dropped
	}
	return r.Changed.ICRC == Bad || r.Changed.Defect != "" || r.Changed.Packet.Opcode != r.Packet.Opcode && r.Changed.Packet.Opcode.OverIP()
}

// Clone returns a copy that shares nothing with r.
func (r *Record) Clone() *Record {
	c := *r
	c.Raw = append([]byte(nil), r.Raw...)
	c.Packet.Payload = append([]byte(nil), r.Packet.Payload...)
	if r.Changed != nil {
		ch := *r.Changed
		ch.Raw = append([]byte(nil), ch.Raw...)
		ch.Packet.Payload = append([]byte(nil), ch.Packet.Payload...)
		c.Changed = &ch
	}
	return &c
}

// Header says what a trace is of; it precedes the stream. Fields that nobody knew are zero: a foreign capture has
// addresses and QPNs at most.
type Header struct {
	Version int     // of the NDJSON format
	Bench   string  // "sim", "netns", "file", …
	Taps    [2]bool // which sides were tapped
	Bytes   bool    // records carry Raw
	Reports Reports // what the endpoints told beside the wire
	Conns   []Conn
}

// BehindLine reports whether the taps show a packet when the line is done with it, as in virtual time. Those of real interfaces show
// it when it is given to the line.
func (h *Header) BehindLine() bool { return h.Bench == "sim" || h.Bench == "fixture" }

// FormatVersion is the version of the NDJSON form that this package writes.
const FormatVersion = 1

// Conn is one connection: a QP on each side.
type Conn struct {
	Ends [2]End // indexed by Side
	Hop  Hop    // which part of the path it is, when a box divides the path
}

// End is one end of a connection.
type End struct {
	Addr netip.Addr
	Port uint16 // UDP source port
	Impl string // name of the implementation, "" for a foreign device
	QP   engine.QP
	// Known says that QP holds the attributes in force. Otherwise only QPN, and what could be learnt from the wire, is
	// set, and rules that need an attribute are inconclusive.
	Known bool
	// Reports is what is known of this end beside the wire, and not of both.
	Reports Reports
}

// Reports is the set of things that the endpoints of a run report beside the wire.
type Reports uint16

// The reports. The last nine are parts of the others: as much as a black box tells by the stock tool above it.
const (
	ReportCQE    Reports = 1 << iota // Post, Receive, CQE, Recv, Timeout, Fatal, Declared, Lost and Refused events
	ReportStores                     // Store events: every placement in memory
	ReportTimers                     // Timer events: every change of the transport timer
	ReportProbes                     // Probe and Count events
	ReportMemory                     // Memory events: the comparison of the images at the end

	ReportDone     // Post and CQE events; the time of a CQE is that by which the request had completed
	ReportPosted   // Receive events
	ReportReceived // Receive and Recv events; the time of a Recv likewise
	ReportRegions  // Probe events of the memory regions: mr_rkey, mr_va, mr_len, mr_access
	ReportChecked  // Memory events named "received": what the application found when a receive had completed

	ReportOrdered   // Post and CQE events, each in its order; their times are those of ReportDone
	ReportChanges   // Changed events: the regions of ReportRegions, compared at the end with what they were
	ReportDatagrams // of a QP for datagrams: its Q_Key as a Probe, the violations as a Count, and a Recv for each that was delivered
	ReportFlushed   // as many Post and CQE events as there were, with their status; the n-th CQE is taken for the n-th request
)

// Event is something that an endpoint reported.
type Event struct {
	At   vtime.Time
	Side Side
	Conn int
	Kind EventKind
	// Body holds the completion fields of Post (Event.Kind unused), CQE, Recv, Timeout, Fatal, Declared, Lost and Refused.
	Body engine.Event
	// Name and Value: a Probe's or Count's variable; a Memory event's check ("mismatch", "guard", "received"). Value of a Post: for how
	// long the request had been waiting for room in the queue, as a vtime.Duration.
	Name  string
	Value int64
	// VA, Len and Sum: a Store's or Changed's range and the CRC-32 of what was written; Post's remote address and length; the address
	// and length of a Receive and of a Declared chunk.
	VA  uint64
	Len uint32
	Sum uint32
	// RKey of a Post.
	RKey uint32
	// Deadline of a Timer event; vtime.Never when the timer was stopped.
	Deadline vtime.Time
}

// EventKind tells the kinds of Event apart.
type EventKind uint8

// The kinds of Event.
const (
	Post     EventKind = iota // a work request was posted: Body.ID, Body.Op, Len, VA, RKey
	Receive                   // a receive buffer was posted: Body.ID, Len
	CQE                       // a work request completed
	Recv                      // a receive completed
	Timeout                   // the transport timer expired
	Fatal                     // the QP went to the error state
	Store                     // bytes were placed in memory
	Timer                     // the transport timer was set or stopped
	Probe                     // a variable of the engine has a value
	Count                     // an error counter of the endpoint advanced to Value
	Memory                    // comparison: Name "mismatch" or "guard" (final) or "received", Value = bytes that are wrong
	Declared                  // a chunk of a one-sided message was declared valid: Body.ID, VA, Len, Body.More
	Lost                      // an incomplete message was given up: Body.ID, Body.Len
	Refused                   // something that arrived was dropped and reported: Body.Status
	Changed                   // bytes of a region are not what they were at the start: VA, Len
)

var eventNames = [...]string{"post", "receive", "cqe", "recv", "timeout", "fatal", "store", "timer", "probe", "count", "memory", "declared", "lost", "refused", "changed"}

// String returns the lower-case name, which is also the NDJSON spelling.
func (k EventKind) String() string {
	if int(k) < len(eventNames) {
		return eventNames[k]
	}
	return "event?"
}

// Sink takes a trace. Packet and Event are called in time order: every record and event not earlier than the one before.
// End is called once, with the time at which observation stopped.
type Sink interface {
	Packet(*Record)
	Event(*Event)
	End(at vtime.Time)
}
