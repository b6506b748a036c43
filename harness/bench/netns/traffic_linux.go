package netns

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/device"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/party"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

const (
	// startDelay is a time of the machine. It leaves the processes time to be ready when the run begins.
	startDelay = 100 * vtime.Millisecond

	// maxRun bounds the machine time of a run, for any Spec.
	maxRun = 24 * 3600 * vtime.Second

	// grace is the time for which endpoints go on after the end of the trace, so that none of its last packets lacks
	// its answer because the endpoint had been stopped. It exceeds the time that rules allow for an answer.
	grace = 30 * vtime.Millisecond

	// settled is how long after the last completion nothing more is expected beyond the round trip.
	settled = 50 * vtime.Millisecond

	// drainMost bounds the wait for packets that the link still holds when all work is done.
	drainMost = 5 * vtime.Second
)

// traffic is a run between its beginning and its end.
type traffic struct {
	spec     *scenario.Spec
	settling vtime.Duration // time for which the run is watched after both sides are idle
	clock    *packetio.Clock
	at       *span
	legs     legs
	parties  *party.Parties
	devices  *device.Tools
	failed   <-chan error // of links and taps that have ended
	progress func(share float64, what string)
	patience vtime.Duration // maximum time without progress
	moved    moved
}

// traffic starts the run, and waits until its work is done or its time is over.
func (s *session) traffic(ctx context.Context) error {
	if err := s.devices.Ready(); err != nil {
		return err
	}
	for _, c := range s.cables {
		c.Begin()
	}
	s.promote()
	s.at.epoch = s.clock.Now().Add(s.base.Dilation.Spec(startDelay))
	s.at.wall = time.Now().Add(s.base.Dilation.Machine(s.at.epoch.Sub(s.clock.Now())).Std())
	if err := s.legs.impairAll(s.at.epoch); err != nil {
		return err
	}
	if err := s.parties.Begin(s.base.Instant(s.at.epoch)); err != nil {
		return err
	}
	t := &traffic{spec: s.spec, settling: settling(s.job.Impls), clock: s.clock, at: &s.at, legs: s.legs,
		parties: &s.parties,
		devices: s.devices, failed: s.failed, progress: s.progress, patience: s.job.Patience(s.base.Dilation)}
	err := s.devices.Begin(ctx, s.clock, s.at.epoch)
	if err == nil {
		err = t.await(ctx)
	}
	if s.at.cut == 0 {
		s.at.cut = max(1, t.now())
	}
	return err
}

// promote gives the harness's own endpoint that faces a device on another machine a priority: for its tools that run
// makes few packets, and the device waits for each answer. Without the privilege the certificate shows whether the
// endpoint was late.
func (s *session) promote() {
	if !s.devices.Far() {
		return
	}
	for _, e := range s.parties.Ends {
		if e != nil && !e.UnderTest() {
			_ = packetio.Promote(e.PID, packetio.OfPeer)
		}
	}
}

// settling is the time for which a run is watched after both sides are idle. The source of an unreliable transport is
// idle when it has sent everything, and its target then waits for the missing packets.
func settling(impls [2]engine.Implementation) vtime.Duration {
	for _, impl := range impls {
		if slices.Contains(impl.Features, engine.Unreliable) {
			return settled + targetWaits
		}
	}
	return settled
}

// targetWaits is longer than the timers of a target are by default.
const targetWaits = 250 * vtime.Millisecond

// now is the time of the run.
func (t *traffic) now() vtime.Time { return t.clock.Now() - t.at.epoch }

// await returns when all parties are idle and their packets have had time to arrive, when the time of the Spec is over,
// or with an error.
func (t *traffic) await(ctx context.Context) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !t.over() {
		if err := t.listen(ctx, tick.C); err != nil {
			return err
		}
		if err := t.devices.Crashed(); err != nil {
			return err
		}
		if err := t.stalled(); err != nil {
			return err
		}
	}
	if t.spec.For == 0 && !t.idle() {
		return t.late(fmt.Errorf("%w (%s)", errLimit, vtime.Duration(t.at.cut)))
	}
	return t.drain(ctx, tick.C)
}

// over reports whether the run has ended, and records its end.
func (t *traffic) over() bool {
	if cut, over := t.limited(t.now()); over {
		t.at.cut = cut
		return true
	}
	return t.idle() && t.spec.For == 0
}

// idle reports whether all have nothing left to do.
func (t *traffic) idle() bool { return t.devices.Idle() && t.parties.Idle() }

// listen waits for the next event.
func (t *traffic) listen(ctx context.Context, tick <-chan time.Time) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case a, ok := <-t.parties.Ends[0].Said():
		return t.parties.Ends[0].Hear(a, ok)
	case a, ok := <-t.parties.Ends[1].Said():
		return t.parties.Ends[1].Hear(a, ok)
	case a, ok := <-t.parties.Box.Said():
		return t.parties.Box.Hear(a, ok)
	case err := <-t.failed:
		return err
	case <-tick:
		t.progress(t.share(), fmt.Sprintf("running for %s", t.now().Sub(0).Std().Round(100*time.Millisecond)))
	}
	return nil
}

// drain waits for packets in flight to arrive: after a run whose work is done, all of them; after one that was cut,
// those that belong to the trace.
func (t *traffic) drain(ctx context.Context, tick <-chan time.Time) error {
	until := t.now().Add(grace)
	if t.at.cut == 0 {
		until = max(t.now(), lastInjection(t.spec)).Add(t.spec.RTT() + t.settling)
	}
	for most := until.Add(drainMost); t.now() < most; {
		if t.now() >= until {
			if busy, err := t.underway(); err != nil || !busy || t.at.cut != 0 {
				return err
			}
		}
		if err := t.listen(ctx, tick); err != nil {
			return err
		}
	}
	return nil
}

// underway reports whether a link holds packets, or a middlebox does.
func (t *traffic) underway() (bool, error) {
	if busy, err := t.legs.busy(); busy || err != nil {
		return busy, err
	}
	return t.parties.Box != nil && !t.parties.Box.Idle, nil
}

// lastInjection returns the time of the last crafted packet.
func lastInjection(spec *scenario.Spec) (last vtime.Time) {
	for _, in := range spec.Injections {
		last = max(last, vtime.Time(in.At))
	}
	return last
}

// share returns the fraction of the run that is done, from 0 to 1.
func (t *traffic) share() float64 {
	if f := t.spec.For; f > 0 {
		return float64(t.now()) / float64(f)
	}
	return t.parties.Share()
}
