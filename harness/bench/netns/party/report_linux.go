package party

import (
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/ndjson"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// AtRest is the event that the program has no work left; ok is false when it has not reported so.
func (e *Party) AtRest() (ev trace.Event, ok bool) {
	if e == nil || !e.Idle {
		return ev, false
	}
	return trace.Event{At: e.since, Side: e.Side, Kind: trace.Idle}, true
}

// Begin starts the program at a time of CLOCK_MONOTONIC.
func (e *Party) Begin(at int64) error {
	e.base.Start, e.begun = at, true
	return e.Tell(&contract.Order{Op: contract.OpStart, At: at})
}

// Reported returns the reports of the program, in its own order: the events of its file, or those that it wrote as
// lines. Events that could be read are returned together with an error.
func (e *Party) Reported() ([]trace.Event, error) {
	if !e.Caps.Tells("file") {
		return e.told, nil
	}
	var c trace.Collector
	_, err := e.report.Seek(0, io.SeekStart)
	if err == nil {
		var r *ndjson.Reader
		if r, err = ndjson.NewReader(e.report); err == nil {
			err = r.Play(&c)
		}
	}
	if err != nil {
		err = e.blame(fmt.Errorf("netns: events of %s: %w", e.Name, err))
	}
	return c.Events, err
}

// slack is the largest apparent difference between the clocks of two readers: the clock is the same, but one reader may
// wait for a processor.
const slack = int64(time.Millisecond)

// plausible checks a report against facts that only the bench knows.
func (e *Party) plausible(r *contract.Report) error {
	switch now := packetio.Monotonic(); {
	case r.OnQP >= e.qps:
		return fmt.Errorf("netns: %s: %s: qp %d; it has 0 to %d", e.Name, r.Event, r.OnQP, e.qps-1)
	case r.At < e.base.Start:
		return fmt.Errorf("netns: %s: %s: at_ns %d is before the start (%d)", e.Name, r.Event, r.At, e.base.Start)
	case r.At > max(now, e.base.Start)+slack:
		return fmt.Errorf("netns: %s: %s: at_ns %d has not come yet (%d); want CLOCK_MONOTONIC", e.Name,
			r.Event, r.At, now)
	}
	return nil
}

// restless checks that a program which says that it is idle has nothing more to say of its requests.
func (e *Party) restless(r *contract.Report) error {
	if e.Idle && (r.Event == contract.SaysPosted || r.Event == contract.SaysCompleted) {
		return fmt.Errorf("netns: %s: wr=%d is %s after idle, which says that all is done (WRK-IDLE-001); a program "+
			"with more work says busy first", e.Name, r.WR, r.Event)
	}
	return nil
}

// taken counts the receives that are posted, and checks that one which completes is among them.
func (e *Party) taken(r *contract.Report) error {
	switch n := e.posted[r.OnQP]; {
	case r.Event == contract.SaysReceive:
		if e.posted == nil {
			e.posted = map[int]uint64{}
		}
		e.posted[r.OnQP] = n + 1
	case r.Event == contract.SaysReceived && r.WR >= n:
		return fmt.Errorf("netns: %s: receive wr=%d is received, of %d that were posted on qp %d; the first is wr=0",
			e.Name, r.WR, n, r.OnQP)
	}
	return nil
}

// credible checks the last report of a program under test: nothing waits for longer than the run lasts, and no more
// processor time passes than the processors have.
func (e *Party) credible() error {
	if e.fault == nil || !e.begun {
		return nil
	}
	lasted := packetio.Monotonic() - e.base.Start
	for _, x := range []struct {
		name     string
		ns, most int64
	}{{"late_ns", e.End.Late, lasted}, {"starved_ns", e.End.Starved, lasted},
		{"cpu_ns", e.End.Processor, lasted * int64(runtime.NumCPU())}} {
		if x.ns < 0 || x.ns > x.most+slack {
			return fmt.Errorf("netns: %s: stopped: %s is %d, %d ns after the start", e.Name, x.name, x.ns, lasted)
		}
	}
	if e.End.Memory != nil && !e.Caps.Tells("memory") {
		return fmt.Errorf("netns: %s: stopped: memory, which its reports do not declare", e.Name)
	}
	return nil
}

// earlyFrames bounds the frames of the kernels that come to a device before its tap is opened.
const earlyFrames = 64

// Took checks the frames that a program under test says it was too slow to take: they came, arrived at most since its
// tap was opened.
func (e *Party) Took(arrived uint64) error {
	if e.fault == nil || e.End.Dropped <= arrived+earlyFrames {
		return nil
	}
	return e.blame(fmt.Errorf("netns: %s: stopped: dropped is %d, and %d frames came", e.Name, e.End.Dropped, arrived))
}

// kinds maps the events of lines to those of a trace.
var kinds = map[string]trace.EventKind{contract.SaysPosted: trace.Post, contract.SaysReceive: trace.Receive,
	contract.SaysCompleted: trace.CQE, contract.SaysReceived: trace.Recv,
	contract.SaysDeclared: trace.Declared, contract.SaysLost: trace.Lost}

// event converts a line to an event of a trace.
func (e *Party) event(r *contract.Report) trace.Event {
	op, _ := contract.Op(r.Operation) // both have been checked
	if r.Event == contract.SaysDeclared {
		op = engine.OpWrite
	}
	status, _ := contract.Status(r.Status)
	return trace.Event{
		At: e.base.Time(r.At), Side: e.Side, Conn: r.OnQP, Kind: kinds[r.Event],
		Body: engine.Event{Op: op, Status: status, ID: r.WR, Len: r.Bytes, Imm: r.Imm, PSN: psn.PSN(r.PSN),
			Peer: r.Peer, More: r.More},
		VA: r.VA, Len: r.Bytes, RKey: r.Key,
	}
}
