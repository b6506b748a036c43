package run

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// struck notes which scripted faults met a packet. One that met none is most often a mistyped PSN, and the run then
// shows nothing of what it was made for.
type struck struct {
	by map[string]bool // causes of packets: few, because a run has a fixed set of them
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

// missed names the faults of a Spec that no packet bears the mark of. A packet bears that of the gravest one only, so
// what is said is what was seen; with faults on a LAN as well, whose marks look the same, nothing is.
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
