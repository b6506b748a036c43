// Package trace defines the trace of a run: one record per packet, with its fate, and the events that the endpoints
// reported, in time order.
//
// A trace is a stream. Records arrive ordered by Record.Time, events by Event.At, and a consumer keeps no more than its
// own window; a run of 10^8 packets is never held. A live bench, a run folder and any pcapng file give the same kind of
// stream, so that judging and measuring do not depend on the source.
//
// This package defines the types and shows a trace to viewers in order (Timeline). Package ndjson is its text form,
// package ladder its drawing, and package fixture the notation in which people write one. Packages capture, merge and
// recording make records from captured frames.
package trace

import (
	"bytes"
	"errors"
	"slices"

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

// ParseSide reads "A" or "B".
func ParseSide(name string) (Side, bool) {
	switch name {
	case "A":
		return A, true
	case "B":
		return B, true
	}
	return A, false
}

// Fate is the fate of a packet between the two taps.
type Fate uint8

// The fates.
const (
	Unknown   Fate = iota // one tap only: the other end was not observed
	Delivered             // seen at both taps, unchanged or as the link marked or rewrote it on purpose
	Dropped               // sent and never received
	Corrupted             // received with other bytes than sent, presumably damaged
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

// ParseFate finds a fate by the name that it prints.
func ParseFate(name string) (Fate, bool) {
	i := slices.Index(fateNames[:], name)
	return Fate(max(i, 0)), i >= 0
}

// Integrity is the state of a packet's invariant CRC.
type Integrity uint8

// The states. Unchecked means that there were no bytes to check: a large virtual-time run carries lengths only.
const (
	Unchecked Integrity = iota
	Good
	Bad
)

// Record is one packet. Copies that the link made of it are records of their own with Copy set.
//
// A record passed to a Sink is valid during the call only; a Sink that keeps it makes a copy (Clone).
type Record struct {
	Sent      vtime.Time // last bit left the sender's port; vtime.Never when the sender's tap did not see it
	Recv      vtime.Time // last bit reached the receiver's port; vtime.Never when the receiver's tap did not see it
	From      Side
	Conn      int // index in Header.Conns; -1 for a packet of no connection
	Fate      Fate
	Copy      bool   // an additional copy made by the link; the original is another record
	Cause     string // what changed its fate: "loss", "queue", "drop[0]", "corrupt[2]", ""; from a fixed set per run
	Packet    roce.Packet
	Sum       uint32    // CRC-32 of the payload as sent; 0 when there are no bytes
	ICRC      Integrity // as sent
	WireBytes int       // layer-1 length: preamble, FCS and inter-frame gap included
	Raw       []byte    // the frame as sent, from the Ethernet header, without FCS; nil when not captured
	Defect    string    // why Raw does not decode, naming the field; "" when it does
	Changed   *Change   // the received form, when it differs from the sent one
}

// Change is the received form of a packet that was corrupted or rewritten in transit.
type Change struct {
	Packet roce.Packet
	Sum    uint32
	ICRC   Integrity
	Raw    []byte
	Defect string
}

// Time returns the time that orders the record in the stream: when it was first seen at either tap.
func (r *Record) Time() vtime.Time { return min(r.Sent, r.Recv) }

// Lost reports whether the packet never reached its receiver in a form that its transport can use: dropped, damaged, or
// with a port or protocol that another transport receives.
func (r *Record) Lost() bool {
	if r.Changed == nil {
		return r.Fate == Dropped
	}
	return r.Changed.ICRC == Bad || r.Damaged() || r.Changed.Defect != "" || r.Changed.Packet.Opcode != r.Packet.Opcode &&
		r.Changed.Packet.Opcode.OverIP()
}

// Damaged reports whether the packet was received in another form, of which too little was captured to check it: then
// no receiver is known to have used it. A form in which only fields differ that routers change is no damage.
func (r *Record) Damaged() bool {
	c := r.Changed
	if r.Fate != Corrupted || c == nil || c.ICRC != Unchecked || c.Packet.Opcode.OverIP() {
		return false
	}
	sent, got := &r.Packet, c.Packet.BTH
	got.FECN, got.BECN, got.Resv6 = sent.FECN, sent.BECN, sent.Resv6
	return sent.BTH != got || sent.RETH != c.Packet.RETH || sent.AETH != c.Packet.AETH ||
		sent.Atomic != c.Packet.Atomic || sent.SACK != c.Packet.SACK || sent.SO != c.Packet.SO ||
		!bytes.Equal(sent.Payload, c.Packet.Payload)
}

// AsChange returns the sent form of r as a Change, for a record of another packet that was received in this form. Both
// share their bytes.
func (r *Record) AsChange() Change { return Change{r.Packet, r.Sum, r.ICRC, r.Raw, r.Defect} }

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

// Sink takes a trace. Packet and Event are called in time order: every record and event not earlier than the one
// before. End is called once, with the time at which observation stopped.
type Sink interface {
	Packet(*Record)
	Event(*Event)
	End(at vtime.Time)
}

// ErrTruncated means that a trace or a capture is incomplete: the run or the copy was cut short. All that was read
// before is good.
var ErrTruncated = errors.New("cut short")
