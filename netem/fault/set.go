package fault

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// MaxFaults bounds the faults of one Set.
const MaxFaults = 4096

// Set judges packets against a list of faults. One Set serves both directions of a link, so that the index of a fault
// is its place in the script. It is not safe for concurrent use.
type Set struct {
	faults []Fault
	seen   []int // per fault: packets that matched
	fired  []int // per fault: packets that were hit
	tally  Tally
}

// NewSet checks the faults and returns a Set in which none has fired.
func NewSet(faults []Fault) (*Set, error) {
	if len(faults) > MaxFaults {
		return nil, fmt.Errorf("fault: %d faults, want at most %d", len(faults), MaxFaults)
	}
	s := &Set{faults: append([]Fault(nil), faults...), seen: make([]int, len(faults)), fired: make([]int, len(faults))}
	for i, f := range faults {
		if err := f.Validate(); err != nil {
			return nil, fmt.Errorf("fault %d: %w", i, err)
		}
	}
	return s, nil
}

// Faults returns the list that the Set was made from.
func (s *Set) Faults() []Fault { return append([]Fault(nil), s.faults...) }

// Fired returns how many packets fault i has hit; a scenario whose fault never fires tests nothing.
func (s *Set) Fired(i int) int {
	if i < 0 || i >= len(s.fired) {
		return 0
	}
	return s.fired[i]
}

// Forgotten returns how many packets fell out of the memory of transmissions; while it is 0, every Tx is exact.
func (s *Set) Forgotten() int { return s.tally.Forgotten() }

// Decision is what all faults together do to one packet. The zero value leaves it alone.
type Decision struct {
	Action  Action // the gravest action that fired, empty when none did
	Fault   int    // the index of its fault
	Drop    bool
	Copies  int            // extra copies
	Gap     vtime.Duration // distance of the copies; 0 is back to back
	Delay   vtime.Duration // added to the arrival
	Behind  int            // successors to let pass
	Corrupt Field          // flip one bit here; empty is nowhere
	Rewrite Field          // set this field to Value; empty is none
	Value   int
	Mark    bool // set ECN to CE
}

// Decide judges one packet of one side; call it once per packet, in the order of sending. Every fault counts the
// packets that match it, also those that another fault drops, so adding a fault never changes which packets the others
// hit.
func (s *Set) Decide(from Side, id Identity) Decision {
	var d Decision
	tx := 0 // unknown until some fault asks
	for i := range s.faults {
		f := &s.faults[i]
		if !f.fits(from, &id) {
			continue
		}
		if f.Tx != 0 && tx == 0 {
			tx = s.tally.Next(from, id.QP, id.PSN, id.Type)
		}
		if f.Tx != 0 && f.Tx != tx {
			continue
		}
		s.seen[i]++
		if limit := f.Limit(); s.seen[i] >= f.Nth && (limit == Every || s.fired[i] < limit) {
			s.fired[i]++
			d.apply(i, f)
		}
	}
	return d
}

// apply adds fault f, the i-th, to the decision. Delays add up, copies too; of two faults that alter the packet in the
// same way the earlier one stands.
func (d *Decision) apply(i int, f *Fault) {
	if d.Action == "" || gravity(f.Action) > gravity(d.Action) {
		d.Action, d.Fault = f.Action, i
	}
	switch f.Action {
	case Drop:
		d.Drop = true
	case Duplicate:
		d.Copies, d.Gap = min(d.Copies+f.Copies, MaxCopies), max(d.Gap, f.By)
	case Delay:
		d.Delay += f.By
	case Reorder:
		d.Behind = max(d.Behind, f.Behind)
	case Corrupt:
		if d.Corrupt == "" {
			d.Corrupt = f.Field
		}
	case Rewrite:
		if d.Rewrite == "" {
			d.Rewrite, d.Value = f.Field, f.Value
		}
	case Mark:
		d.Mark = true
	}
}

// gravity ranks actions by how far they keep the packet from arriving as it was sent; the gravest one names the cause.
func gravity(a Action) int {
	for i, g := range []Action{Delay, Reorder, Duplicate, Mark, Rewrite, Corrupt, Drop} {
		if a == g {
			return i
		}
	}
	return -1
}
