// Package validity names what evidence rests on: the properties of link, capture and host that a bench certifies, and
// on which a rule declares that its evidence rests. A property that fails makes the verdicts of those rules INVALID,
// and of no others: a frame with a wrong ICRC is wrong however late the link was.
package validity

import (
	"fmt"
	"strings"
)

// Property is a set of properties. Wherever a set is declared, the empty set stands for all of them: a rule without a
// declaration rests on every property, and a certificate item without one concerns every property.
type Property uint16

// The properties.
const (
	Frames Property = 1 << iota // a frame in the record was on the wire with these bytes; no measurement can fail it
	// the taps show every packet that passed them, and every packet that they show arriving reached the endpoint
	Capture
	Accounts // the taps and the link's own counts agree on each packet
	Order    // the link duplicates, damages and reorders packets as the Spec says
	Loss     // it loses packets by the law of the Spec
	Delay    // its delay is that of the Spec
	Rate     // its rate is that of the Spec
	Lateness // link and endpoints served each packet and timer at the time that it was due
	Clock    // the times of all records are of one clock
	Pace     // no endpoint left its line idle for want of a processor

	end
)

// The sets that rules declare, each a superset of the one before.
const (
	// Sequence is for the packets that an endpoint sends and receives, and their order.
	Sequence = Frames | Capture | Accounts
	// Reaction is for the times at which an endpoint acts. It includes Rate because packets wait in a port for those
	// before them.
	Reaction = Sequence | Rate | Lateness | Clock
	// Path is for the fates of packets between the ends, and their delays.
	Path = Reaction | Delay | Order
	// Everything is for amounts (of packets, bytes, work), which depend on how many packets are lost.
	Everything = Path | Loss | Pace
)

var names = [...]string{"frames", "capture", "accounts", "order", "loss", "delay", "rate", "lateness", "clock", "pace"}

// everything is how the set of all properties prints.
const everything = "everything"

// Fails reports whether evidence that rests on p is taken away when the properties in failed do not hold.
func (p Property) Fails(failed Property) bool { return p.all()&failed.all() != 0 }

// Has reports whether every property of q is in p.
func (p Property) Has(q Property) bool { return q.all()&^p.all() == 0 }

// all resolves the empty set.
func (p Property) all() Property {
	if p == 0 {
		return Everything
	}
	return p
}

// String lists the properties: "frames, capture, lateness", or "everything".
func (p Property) String() string {
	if p.all() == Everything {
		return everything
	}
	var list []string
	for i, name := range names {
		if p&(1<<i) != 0 {
			list = append(list, name)
		}
	}
	return strings.Join(list, ", ")
}

// MarshalText writes what String prints, so that JSON holds names.
func (p Property) MarshalText() ([]byte, error) {
	if p >= end {
		return nil, fmt.Errorf("validity: properties %#x: want a set below %#x", uint16(p), uint16(end))
	}
	return []byte(p.String()), nil
}

// UnmarshalText reads it back.
func (p *Property) UnmarshalText(text []byte) error {
	*p = 0
	if string(text) == everything {
		*p = Everything
		return nil
	}
next:
	for word := range strings.SplitSeq(string(text), ", ") {
		for i, name := range names {
			if word == name {
				*p |= 1 << i
				continue next
			}
		}
		return fmt.Errorf("validity: property %q: want one of %v", word, names)
	}
	return nil
}
