package metrics

import (
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Options say what the trace does not.
type Options struct {
	Rates [2]unit.Rate // line rate of each direction, by sender; 0 is unlimited
	Timed bool         // the run was cut by a duration: Elapsed runs to End
}

// Collector measures a trace. It is a trace.Viewer.
type Collector struct{ opts Options }

// NewCollector returns a collector for a trace with header h.
func NewCollector(h *trace.Header, o Options) *Collector { return &Collector{opts: o} }

// Sight implements trace.Viewer.
func (c *Collector) Sight(s *trace.Sight) {}

// Event implements trace.Viewer.
func (c *Collector) Event(e *trace.Event) {}

// End implements trace.Viewer.
func (c *Collector) End(at vtime.Time) {}

// Summary returns the numbers of the run.
func (c *Collector) Summary() Summary { return Summary{} }

// Timeline returns payload delivered over time.
func (c *Collector) Timeline() Timeline { return Timeline{} }

// Sequences returns the plots of the first connections.
func (c *Collector) Sequences() []Sequence { return nil }
