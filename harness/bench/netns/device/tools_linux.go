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

// Tools are the programs at the ends of a run that replace endpoints: one tool, or two that talk to each other. Without
// tools the pointer is nil, for which all methods may be called.
type Tools struct {
	site    Site
	places  [2]station.Place // hosts of the tools, by side
	kernels [2]string        // of devices on other machines, by side
	first   *running         // the tool of a device; of two tools the active one
	second  *running         // the passive one; nil when an endpoint is at the other end
	undo    []func() error
}

// Site is the network that tools are put into.
type Site struct {
	Network *topology.Topology
	Base    int64                    // time zero of the bench, CLOCK_MONOTONIC
	Fact    func(name, value string) // adds a fact to the report

	// Fault marks an error for which a program at a side is to blame.
	Fault func(side trace.Side, program string, err error) error
}

// Introduce creates the RDMA devices of d, starts the tools, exchanges parameters, and returns a copy of the Spec with
// the tools' parameters. The caller closes the tools. Without a device it returns nil tools and the unchanged Spec.
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
		_ = t.Close() // its error follows from the first
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

// introducePair performs the exchange of parameters between the tools of both ends.
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

// Ready reads the counters before the run. It takes an unknown time on a far host, so the start of the run is chosen
// after it: a packet that passed during a reading would be counted in part.
func (t *Tools) Ready() error {
	if t == nil {
		return nil
	}
	return t.count((*counted).take)
}

// Begin resumes the tools when the run begins, at epoch, and lets an active tool send a little later.
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

// Idle reports whether the tool has done its work.
func (t *Tools) Idle() bool { return t == nil || t.first.idle() }

// Crashed returns the error of a tool that a signal has ended; nil when there is none. The tool, or the device below
// it, is responsible, unless the connection to its host is lost.
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

// Unfinished names the tool that is not done; "" when all are.
func (t *Tools) Unfinished() string {
	if t.Idle() {
		return ""
	}
	return fmt.Sprintf("%s at %s is not done", t.first.tool.Program, t.first.side)
}

// Far reports whether the tools are on other machines.
func (t *Tools) Far() bool {
	if t == nil {
		return false
	}
	_, near := t.first.place.(here)
	return !near
}

// Wake lets a tool that only waits run without pauses, before it is reported as stalled.
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

// Finish inspects a tool that faces an endpoint, when the endpoint has stopped, and ends a tool that is still at work.
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

// Ignored returns the function that selects the frames that the taps leave out; nil when there are none.
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

// Testify declares in the header of the trace which reports the tool provides, and returns the witness that infers
// events from its packets, and the end of its work; nil when there is no witness.
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

// Amend adds the tool's reports to those of the endpoints. A tool sends the same bytes again and again, so that the
// placement of bytes by an endpoint does not identify a message; these events are removed.
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

// later registers an action that Close must perform.
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
