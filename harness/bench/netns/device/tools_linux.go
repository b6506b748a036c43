package device

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/topology"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/station"
	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// Tools are what stands at the ends of a run in place of endpoints: one tool, or two that talk to each other. No tools
// are nil, and every method but Introduce may be called then.
type Tools struct {
	site    Site
	places  [2]station.Place // by side
	kernels [2]string        // of devices on other machines, by side
	first   *running         // the tool of a device; of two the active one
	second  *running         // the passive one; nil where an endpoint is at the other end
	undo    []func() error
}

// Site is the network that tools are put into.
type Site struct {
	Network *topology.Topology
	Base    int64                    // time zero of the bench, CLOCK_MONOTONIC
	Fact    func(name, value string) // notes something for the report

	// Fault marks an error for which a program at a side is to blame.
	Fault func(side trace.Side, program string, err error) error
}

// Introduce makes the RDMA devices of d, starts the tools, and returns a copy of the Spec with their numbers. The
// caller closes the tools. Without a device there are none, and the Spec is as it was.
func Introduce(d *Device, site Site, sp *scenario.Spec) (*Tools, *scenario.Spec, error) {
	if d == nil {
		return nil, sp, nil
	}
	t, learned := &Tools{site: site, places: d.Places}, *sp
	if !d.Far() {
		t.places = [2]station.Place{here{site.Network}, here{site.Network}}
	}
	introduce := t.introduce
	if d.Peer != nil {
		introduce = t.introducePair
	}
	err := introduce(d, &learned)
	t.noteKernels()
	if err != nil {
		_ = t.Close() // what it says follows from the first error
		return nil, nil, err
	}
	return t, &learned, nil
}

// introduce has the tool of a device meet this program's endpoint.
func (t *Tools) introduce(d *Device, sp *scenario.Spec) error {
	r, err := t.attach(d.Side, d.Tool)
	if err != nil {
		return err
	}
	if d.Tool.ByCM() {
		err = t.call(r, mine(r, sp))
	} else {
		err = r.meet(mine(r, sp))
	}
	if err != nil {
		return err
	}
	t.first = r
	t.later(r.close)
	r.lookBefore()
	r.pause()
	return t.learn(r, sp)
}

// introducePair lets the tools of both ends be introduced to each other.
func (t *Tools) introducePair(d *Device, sp *scenario.Spec) error {
	active, err := t.attach(d.Side, d.Tool)
	if err != nil {
		return err
	}
	passive, err := t.attach(d.Side.Other(), d.Peer)
	if err != nil {
		return err
	}
	server, err := passive.dial()
	if err != nil {
		return err
	}
	t.second = passive
	t.later(func() error { passive.end(); return nil })
	client, err := active.dial()
	if err != nil {
		_ = server.Close() // the first error says more
		return err
	}
	active.meeting, passive.meeting, err = dut.Introduce(active.tool, client, server)
	if err := active.met(err); err != nil {
		return err
	}
	t.first = active
	t.later(active.close)
	active.pause()
	passive.pause()
	if err := t.learn(active, sp); err != nil {
		return err
	}
	return t.learn(passive, sp)
}

// Ready reads the counters before the run. How long a far host takes for that is not known, so the time at which the
// run begins is chosen behind it: what passes during a reading would be on both sides of it.
func (t *Tools) Ready() error {
	if t == nil {
		return nil
	}
	return t.count((*counted).take)
}

// Begin wakes the tools when the run begins, at epoch, and lets an active one send a little later.
func (t *Tools) Begin(ctx context.Context, clock *packetio.Clock, epoch vtime.Time) error {
	if t == nil {
		return nil
	}
	if err := sleep(ctx, clock, epoch); err != nil {
		return err
	}
	t.first.resume()
	t.second.resume()
	if err := sleep(ctx, clock, epoch.Add(dut.Lead)); err != nil {
		return err
	}
	err := t.first.meeting.Begin()
	if err == nil && t.first.tool.Waits() {
		go t.first.glance()
	}
	return err
}

// sleep returns at a time of the clock, or when the run is interrupted.
func sleep(ctx context.Context, clock *packetio.Clock, until vtime.Time) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(until.Sub(clock.Now()).Std()):
		return nil
	}
}

// Idle reports whether the tool has done what it was told.
func (t *Tools) Idle() bool { return t == nil || t.first.idle() }

// Crashed is the error of a tool that a signal has ended; nil while there is none. The tool is to blame, or the device
// under it, unless it is the place that is lost.
func (t *Tools) Crashed() error {
	if t == nil {
		return nil
	}
	for _, p := range t.places {
		if p == nil {
			continue
		}
		if err := p.Err(); err != nil {
			return err
		}
	}
	for _, r := range []*running{t.first, t.second} {
		if err := r.crashed(); err != nil {
			return t.site.Fault(r.side, r.tool.Program, err)
		}
	}
	return nil
}

// Unfinished says which tool is not done; "" when it is.
func (t *Tools) Unfinished() string {
	if t.Idle() {
		return ""
	}
	return fmt.Sprintf("%s at %s is not done", t.first.tool.Program, t.first.side)
}

// Wake lets a tool that only waits look without rest, before it is said to have stalled.
func (t *Tools) Wake() {
	if t != nil {
		t.first.wake()
	}
}

// Fault is an error for which the tool that works is to blame, or the device under it.
func (t *Tools) Fault(err error) error { return t.site.Fault(t.first.side, t.first.tool.Program, err) }

// Leave pauses the tools for good, because the run is over.
func (t *Tools) Leave() {
	if t != nil {
		t.first.leave()
		t.second.leave()
	}
}

// Finish inspects a tool that faced an endpoint, when the endpoint has stopped, and ends one that is still at work.
func (t *Tools) Finish() (err error) {
	if t == nil {
		return nil
	}
	if t.second == nil {
		err = t.first.lookAfter()
	}
	t.first.cutShort()
	return err
}

// Ignored is what the taps leave out, nil when they leave nothing out.
func (t *Tools) Ignored() func(frame []byte) bool {
	if t == nil || !t.first.tool.ByCM() {
		return nil
	}
	aside, device := t.first.meeting.Aside, drive.Addr(t.first.side).As4()
	return func(frame []byte) bool { return introduces(frame, aside, device) }
}

// Span is a run on the clock of the bench.
type Span struct {
	Epoch vtime.Time // when it began
	Cut   vtime.Time // where its trace ends, in time of the run
}

// Testify says in the header of the trace what the tool tells, and returns who reads the rest off its packets, and how
// its work ended; nil where that is nobody.
func (t *Tools) Testify(h *trace.Header, sp *scenario.Spec, at Span) (*dut.Witness, dut.Ending) {
	if t == nil {
		return nil, dut.Ending{}
	}
	t.reports(h)
	if t.second != nil {
		return nil, dut.Ending{}
	}
	r := t.first
	e := r.ending(at.Epoch, at.Cut)
	h.Conns[0].Ends[r.side].Reports |= r.tool.Tells() &^ e.Silent()
	return r.tool.Witness(sp, r.side), e
}

// Amend puts what the tool tells to what endpoints reported. A tool sends the same bytes again and again, so where an
// endpoint placed them says nothing of which came, and is left out.
func (t *Tools) Amend(events []trace.Event, sp *scenario.Spec, at Span) []trace.Event {
	if t == nil {
		return events
	}
	events = slices.DeleteFunc(events, func(e trace.Event) bool { return e.Kind == trace.Store })
	if r := t.first; t.second == nil {
		events = append(events, r.tool.Told(sp, r.side, r.ending(at.Epoch, at.Cut))...)
		events = append(events, r.tool.Witness(sp, r.side).Begin()...)
	}
	return events
}

// later registers what must be undone.
func (t *Tools) later(f func() error) { t.undo = append(t.undo, f) }

// Close ends the tools and removes their devices; the first error is returned. A second call does nothing.
func (t *Tools) Close() (first error) {
	if t == nil {
		return nil
	}
	for _, f := range slices.Backward(t.undo) {
		first = cmp.Or(first, f())
	}
	t.undo = nil
	return first
}
