// Package certify says whether a link was what its Spec says: it compares what was measured before, during and after a
// run with what was asked for, within bounds that have reasons. A link outside them makes the run INVALID, which is not
// the fault of the device under test.
package certify

// Item is one property of a link.
type Item struct {
	Name  string `json:"name"`  // "A>B delay p50"
	Want  string `json:"want"`  // from the Spec
	Got   string `json:"got"`   // measured
	Bound string `json:"bound"` // what would still do, and why
	OK    bool   `json:"ok"`
}

// Certificate is all that is known of a link at one time of a run.
type Certificate struct {
	When   string `json:"when"` // "before", "during" or "after"
	Items  []Item `json:"items"`
	Valid  bool   `json:"valid"`  // every item is within its bound
	Reason string `json:"reason"` // the first that is not, in a sentence; "" when valid
}
