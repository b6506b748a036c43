package run

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// struck records which scripted faults met a packet. A fault that met none is most often a mistyped PSN, and the run
// then does not test what it was written for.
type struck struct {
	by map[string]bool // the causes seen; few, because a run has a fixed set of them
}

// Packet implements trace.Sink.
func (s *struck) Packet(r *trace.Record) {
	if r.Cause != "" && !s.by[r.Cause] {
		s.by[r.Cause] = true
	}
}

// Event implements trace.Sink.
func (*struck) Event(*trace.Event) {}

// End implements trace.Sink.
func (*struck) End(vtime.Time) {}

// missed returns a warning for each fault of the Spec whose mark no packet bears. A packet bears the mark of its
// gravest fault only, so the warning claims no more than was seen. Marks of faults on a LAN look the same, so with
// those it returns nothing.
func (s *struck) missed(sp *scenario.Spec) (warnings []string) {
	if len(sp.LAN.Faults) > 0 {
		return nil
	}
	for i, f := range sp.Faults {
		met := false
		for cause := range s.by {
			met = met || strings.HasSuffix(cause, "["+strconv.Itoa(i)+"]")
		}
		if !met {
			warnings = append(warnings,
				fmt.Sprintf("no packet met the fault %q: look at its side, PSN, type and transmission", f))
		}
	}
	return warnings
}
