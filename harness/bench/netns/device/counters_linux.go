package device

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/station"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// counted holds the counters of a device before the first packet of a run and after the last.
type counted struct {
	read          func() (station.Counters, error)
	before, after station.Counters // nil when they were not read
}

// When a reading is final. A reading takes many files one after the other, and a driver may update its counters only
// after it has processed everything that waits, so that a reading taken while counters change belongs to no single
// moment.
const (
	settleRest = 20 * time.Millisecond // between two readings
	settleMost = time.Second           // time limit for two equal readings
)

// take reads the counters before the run.
func (c *counted) take() (err error) {
	c.before, err = c.read()
	return err
}

// settle reads the counters after the run, until two readings agree. Counters that still change are no evidence, and
// after stays nil.
func (c *counted) settle() error {
	last, err := c.read()
	for until := time.Now().Add(settleMost); err == nil && time.Now().Before(until); {
		time.Sleep(settleRest)
		var now station.Counters
		if now, err = c.read(); err == nil && maps.Equal(last, now) {
			c.after = now
			return nil
		}
		last = now
	}
	return err
}

// whole reports whether it was read twice.
func (c *counted) whole() bool { return c.before != nil && c.after != nil }

// Count reads the counters of the devices when nothing is under way any more, while the taps still watch.
func (t *Tools) Count() error {
	if t == nil || t.first.counted.before == nil { // it never began
		return nil
	}
	return t.count((*counted).settle)
}

// count reads the counters of the devices.
func (t *Tools) count(how func(*counted) error) error {
	for _, r := range t.running() {
		if err := how(&r.counted); err != nil {
			return err
		}
	}
	return nil
}

// running returns the tools, one or two.
func (t *Tools) running() []*running {
	switch {
	case t == nil:
		return nil
	case t.second == nil:
		return []*running{t.first}
	}
	return []*running{t.first, t.second}
}

// reports declares in the header of the trace which ends report their counters.
func (t *Tools) reports(h *trace.Header) {
	for _, r := range t.running() {
		if r.counted.whole() {
			h.Conns[0].Ends[r.side].Reports |= trace.ReportCounters
		}
	}
}

// Passed counts the frames that passed the port of a side while counters could change: those in the trace, all that may
// have been RoCE, and those that the kernel sent on its own account.
type Passed struct{ Traced, Frames, Kernel uint64 }

// Counted returns the readings of all devices as events: those before the first packet, and those after the last, at
// the time end.
func (t *Tools) Counted(end vtime.Time, passed func(trace.Side) Passed) (before, after []trace.Event) {
	for _, r := range t.running() {
		if !r.counted.whole() {
			continue
		}
		p := passed(r.side)
		before = append(before, readings(r.side, 0, r.counted.before)...)
		after = append(after, readings(r.side, end, r.counted.after)...)
		more := station.Counters{"tap/aside": p.Frames - min(p.Frames, p.Traced)}
		if _, near := r.place.(here); near { // frames of a far kernel do not reach the link
			more["tap/other"] = p.Kernel
		}
		zero := maps.Clone(more)
		for name := range zero {
			zero[name] = 0
		}
		before, after = append(before, readings(r.side, 0, zero)...), append(after, readings(r.side, end, more)...)
	}
	return before, after
}

// readings are counters as events, in the order of their names.
func readings(side trace.Side, at vtime.Time, c station.Counters) (events []trace.Event) {
	for _, name := range slices.Sorted(maps.Keys(c)) {
		events = append(events, trace.Event{At: at, Side: side, Conn: -1, Kind: trace.Counter, Name: name,
			Value: int64(min(c[name], math.MaxInt64))})
	}
	return events
}

// Moved returns the growth of the counters of the device at a side, without those that did not change.
func (t *Tools) Moved(side trace.Side) map[string]int64 {
	n := map[string]int64{}
	for _, r := range t.running() {
		for name, after := range r.counted.after {
			if d := int64(after - r.counted.before[name]); r.side == side && d != 0 {
				n[name] = d
			}
		}
	}
	return n
}
