package fault

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// MaxFaults bounds the faults of one Set.
const MaxFaults = 4096

// Set decides about packets by a list of faults. One Set serves both directions of a link, so that the index of a fault
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

// Faults returns a copy of the list of faults.
func (s *Set) Faults() []Fault { return append([]Fault(nil), s.faults...) }

// Fired returns how many packets fault i has hit; a scenario whose fault never fires tests nothing.
func (s *Set) Fired(i int) int {
	if i < 0 || i >= len(s.fired) {
		return 0
	}
	return s.fired[i]
}

// Forgotten returns the number of packets whose transmissions are no longer counted; while it is 0, every Tx is exact.
func (s *Set) Forgotten() int { return s.tally.Forgotten() }

// Decision is the combined effect of all faults on one packet. The zero value leaves the packet as it is.
type Decision struct {
	Action  Action // the gravest action that fired, empty when none did
	Fault   int    // the index of its fault
	Drop    bool
	Copies  int            // extra copies
	Gap     vtime.Duration // distance of the copies; 0 is back to back
	Delay   vtime.Duration // added to the arrival
	Behind  int            // successors that pass first
	Corrupt Field          // field of which one bit is flipped; empty is none
	Rewrite Field          // field that is set to Value; empty is none
	Value   int
	Mark    bool // set ECN to CE
}

// Decide decides about one packet of one side; it must be called once per packet, in the order of sending. Every fault
// counts the packets that match it, including those that another fault drops, so that adding a fault never changes
// which packets the others hit.
func (s *Set) Decide(from Side, id Identity) Decision {
	var d Decision
	tx := 0 // unknown until a fault needs it
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

// apply adds the effect of f, the i-th fault, to the decision. Delays add up, and so do copies; of two faults that
// alter the packet in the same way the first one has effect.
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

// gravity ranks actions by how far they keep the packet from arriving as it was sent; the gravest one is named as the
// cause.
func gravity(a Action) int {
	for i, g := range []Action{Delay, Reorder, Duplicate, Mark, Rewrite, Corrupt, Drop} {
		if a == g {
			return i
		}
	}
	return -1
}
