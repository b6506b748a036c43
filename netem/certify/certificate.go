// Package certify decides whether a link conformed to its Spec: it compares measurements made before, during and after
// a run with the Spec, within bounds that have reasons. A measurement outside its bound makes INVALID the verdicts of
// the rules whose evidence rests on that property; the device under test is not at fault.
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
	Bound string `json:"bound"` // permitted deviation, and its reason
	OK    bool   `json:"ok"`

	Property validity.Property `json:"property,omitempty"` // what it certifies; 0 is everything
}

// String returns the item as a sentence for one outside its bound: "A>B delay p50 is 9.1 ms, want 5.0 ms: ± 0.5 ms".
func (i *Item) String() string {
	return fmt.Sprintf("%s is %s, want %s: %s", i.Name, i.Got, i.Want, i.Bound)
}

// Certificate is the set of items of a link at one time of a run.
type Certificate struct {
	When   string `json:"when"` // "before", "during" or "after"
	Items  []Item `json:"items"`
	Valid  bool   `json:"valid"`  // every item is within its bound
	Reason string `json:"reason"` // the first that is not, in a sentence; "" when valid
}

// Failed returns the first item outside its bound whose property the evidence with property p depends on; nil if there
// is none.
func (c *Certificate) Failed(p validity.Property) *Item {
	for i := range c.Items {
		if item := &c.Items[i]; !item.OK && p.Fails(item.Property) {
			return item
		}
	}
	return nil
}

// Against returns the reason why evidence that rests on p is invalid, as a sentence with the time and the item; "" if
// the evidence is valid. If nothing was measured, only evidence that rests on frames alone is valid.
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

// State sums up certificates, for display beside a verdict.
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

// Against returns the first objection of a certificate to evidence that rests on p; "" when there is none.
func Against(all []Certificate, p validity.Property) string {
	for i := range all {
		if why := all[i].Against(p); why != "" {
			return why
		}
	}
	return ""
}
