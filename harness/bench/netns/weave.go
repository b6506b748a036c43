package netns

import (
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// weave puts events between records, by time, on the way to several sinks, and ends the trace at a given time: later
// actions of endpoints, while they were being stopped, are not part of the run.
type weave struct {
	sinks  []trace.Sink
	events []trace.Event
	cut    vtime.Time

	witness *dut.Witness // of a device
	ending  dut.Ending
	traced  [2]uint64                            // packets that passed the port of each side by the cut
	last    func(traced [2]uint64) []trace.Event // counters of the devices after the last packet; nil without devices
}

// Packet implements trace.Sink.
func (w *weave) Packet(r *trace.Record) {
	if r.Fate == trace.Injected {
		r.Cause = "inject"
	}
	w.upTo(min(r.Time(), w.cut))
	if r.Time() > w.cut {
		return
	}
	w.tally(r)
	w.tell(w.witness.Packet(r))
	for _, s := range w.sinks {
		s.Packet(r)
	}
}

// tally counts the ends at which a packet was captured; of a copy, only the arrival.
func (w *weave) tally(r *trace.Record) {
	if r.Sent <= w.cut && !r.Copy {
		w.traced[r.From&1]++
	}
	if r.Recv <= w.cut {
		w.traced[r.From&1^1]++
	}
}

// tell adds the events of a witness to the trace.
func (w *weave) tell(events []trace.Event) {
	for i := range events {
		w.Event(&events[i])
	}
}

// Event implements trace.Sink. Memory is compared after the end, and that is its time.
func (w *weave) Event(e *trace.Event) {
	if e.At > w.cut {
		if e.Kind != trace.Memory {
			return
		}
		e.At = w.cut
	}
	for _, s := range w.sinks {
		s.Event(e)
	}
}

// End implements trace.Sink.
func (w *weave) End(vtime.Time) {
	if last := w.witness.End(w.ending); len(last) > 0 {
		w.upTo(last[0].At)
		w.tell(last)
	}
	w.upTo(vtime.Never)
	if w.last != nil {
		w.tell(w.last(w.traced))
	}
	for _, s := range w.sinks {
		s.End(w.cut)
	}
}

func (w *weave) upTo(at vtime.Time) {
	for len(w.events) > 0 && w.events[0].At < at {
		w.Event(&w.events[0])
		w.events = w.events[1:]
	}
}
