package injector

import (
	"fmt"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/netem/fault"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
	"github.com/rdma-gauntlet/gauntlet/netem/tape"
)

// MaxFaults bounds a script: each fault is code that runs for every frame of its side.
const MaxFaults = 256

// Beyond lists the features of a script and two loss processes that the injector does not support, in a few words each;
// it is empty when the injector supports all. A tape that cannot be read is not listed: opening it for the run returns
// the error.
func Beyond(faults []fault.Fault, losses ...spec.Loss) (list []string) {
	add := func(what string) {
		if !slices.Contains(list, what) {
			list = append(list, what)
		}
	}
	if len(faults) > MaxFaults {
		add(fmt.Sprintf("more than %d faults", MaxFaults))
	}
	for i := range faults {
		if what := beyond(&faults[i]); what != "" {
			add(what)
		}
	}
	for _, l := range losses {
		if what := beyondLoss(l); what != "" {
			add(what)
		}
	}
	return list
}

// beyond describes why a fault is not supported; "" when it is.
func beyond(f *fault.Fault) string {
	switch {
	case f.Action == fault.Delay, f.Action == fault.Reorder:
		return "faults that hold packets back (" + string(f.Action) + ")"
	case f.Action == fault.Corrupt, f.Action == fault.Rewrite:
		return "faults that change bytes (" + string(f.Action) + ")"
	case f.Action == fault.Duplicate && f.By != 0:
		return "copies that come later (dup by=)"
	}
	return ""
}

// beyondLoss describes why a loss process is not supported: the loss must depend on the number of the packet only.
func beyondLoss(l spec.Loss) string {
	if l.Slot != 0 {
		return "losses by slots of time"
	}
	if l.Model != spec.Tape {
		return ""
	}
	if t, err := tape.Open(l.File); err == nil && t.Key != tape.ByIndex {
		return "tapes keyed by " + string(t.Key)
	}
	return ""
}
