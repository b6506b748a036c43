// Package certify says whether a link was what its Spec says: it compares what was measured before, during and after a
// run with what was asked for, within bounds that have reasons. What is outside them makes INVALID the rules whose
// evidence rests on it, which is not the fault of the device under test.
package certify

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

// Item is one property of a link.
type Item struct {
	Name  string `json:"name"`  // "A>B delay p50"
	Want  string `json:"want"`  // from the Spec
	Got   string `json:"got"`   // measured
	Bound string `json:"bound"` // what would still do, and why
	OK    bool   `json:"ok"`

	Property validity.Property `json:"property,omitempty"` // what it certifies; 0 is everything
}

// String says how the item is outside its bound: "A>B delay p50 is 9.1 ms, want 5.0 ms: ± 0.5 ms".
func (i *Item) String() string {
	return fmt.Sprintf("%s is %s, want %s: %s", i.Name, i.Got, i.Want, i.Bound)
}

// Certificate is all that is known of a link at one time of a run.
type Certificate struct {
	When   string `json:"when"` // "before", "during" or "after"
	Items  []Item `json:"items"`
	Valid  bool   `json:"valid"`  // every item is within its bound
	Reason string `json:"reason"` // the first that is not, in a sentence; "" when valid
}

// Failed returns the first item outside its bound of which evidence that rests on p depends; nil when there is none.
func (c *Certificate) Failed(p validity.Property) *Item {
	for i := range c.Items {
		if item := &c.Items[i]; !item.OK && p.Fails(item.Property) {
			return item
		}
	}
	return nil
}

// Against returns why evidence that rests on p does not stand, in a sentence that says when and what; "" when it
// stands. Where nothing was measured, only frames speak for themselves.
func (c *Certificate) Against(p validity.Property) string {
	if c.Valid {
		return ""
	}
	named := "link certificate " + c.When + " the run: "
	if c.Failed(validity.Everything) == nil && p.Fails(validity.Everything&^validity.Frames) {
		return named + c.Reason
	}
	if item := c.Failed(p); item != nil {
		return named + item.String()
	}
	return ""
}

// State sums up certificates, for what stands beside a verdict.
func State(all []Certificate) validity.State {
	if len(all) == 0 {
		return validity.State{}
	}
	for i := range all {
		if c := &all[i]; !c.Valid {
			return validity.State{Validity: validity.Invalid, Doubt: c.When + " the run: " + c.Reason}
		}
	}
	return validity.State{Validity: validity.Valid}
}

// Against returns what the first certificate has against evidence that rests on p; "" when it stands.
func Against(all []Certificate, p validity.Property) string {
	for i := range all {
		if why := all[i].Against(p); why != "" {
			return why
		}
	}
	return ""
}
