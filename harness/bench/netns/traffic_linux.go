package netns

import (
	"context"
	"fmt"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// startEndpoints starts both processes; they wait for their start time.
func (s *session) startEndpoints(context.Context) error {
	for side, n := range []*Namespace{s.topology.A, s.topology.B} {
		var err error
		if s.events[side], err = s.scratch("events"); err != nil {
			return err
		}
		e, err := s.bench.startEndpoint(s.topology, n, setup{Version: protocolVersion, Side: uint8(side), Device: devices[side],
			Spec: s.job.Spec.String(), Events: reachable(s.events[side])})
		if err != nil {
			return err
		}
		s.ends[side] = e
		s.later(e.close)
	}
	return nil
}

// devices are those of the endpoints, by side.
var devices = [2]string{DeviceA, DeviceB}

// openTaps begins to watch both endpoints' ports.
func (s *session) openTaps(context.Context) error {
	for side, n := range []*Namespace{s.topology.A, s.topology.B} {
		file, err := s.scratch("spool")
		if err != nil {
			return err
		}
		t, err := openTap(n, trace.Side(side), devices[side], s.base, file)
		if err != nil {
			return err
		}
		s.taps[side] = t
		s.later(func() error { t.close(); return nil })
	}
	return nil
}

const (
	// startDelay leaves the processes time to be ready when the run begins.
	startDelay = 100 * vtime.Millisecond

	// maxRun bounds a run in real time, whatever the Spec says.
	maxRun = 24 * 3600 * vtime.Second

	// grace is how long endpoints go on after the end of the trace, so that none of its last packets lacks its answer
	// because the endpoint had been stopped. It is above what rules allow for an answer.
	grace = 30 * vtime.Millisecond

	// settled is how long after the last completion nothing more is expected beyond the round trip.
	settled = 50 * vtime.Millisecond

	// drainMost bounds the wait for packets that the link still holds when all work is done.
	drainMost = 5 * vtime.Second
)

// traffic lets the run begin, and waits until its work is done or its time is over.
func (s *session) traffic(ctx context.Context) error {
	s.epoch = s.clock.Now().Add(startDelay)
	s.wall = time.Now().Add(s.epoch.Sub(s.clock.Now()).Std())
	if err := s.link.loud(s.epoch); err != nil {
		return err
	}
	for _, e := range s.ends {
		if err := e.tell(order{Op: opStart, Start: s.base + int64(s.epoch)/int64(vtime.Nanosecond)}); err != nil {
			return err
		}
	}
	err := s.await(ctx)
	if s.cut == 0 {
		s.cut = max(1, s.clock.Now()-s.epoch)
	}
	return err
}

// now is the time of the run.
func (s *session) now() vtime.Time { return s.clock.Now() - s.epoch }

// await returns when both sides are idle and what they sent has had time to arrive, when the time of the Spec is over, or
// with an error.
func (s *session) await(ctx context.Context) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !s.over() {
		if err := s.listen(ctx, tick.C); err != nil {
			return err
		}
	}
	if s.job.Spec.For == 0 && !s.idle() {
		return fmt.Errorf("netns: limit reached before the work was done (%s); raise it with run limit=", vtime.Duration(s.cut))
	}
	return s.drain(ctx, tick.C)
}

// over reports whether the run has come to its end, and notes where that is.
func (s *session) over() bool {
	spec, now := s.job.Spec, s.now()
	limit := vtime.Time(min(spec.Limit, maxRun))
	if spec.For > 0 {
		limit = min(limit, vtime.Time(spec.For))
	}
	if now >= limit {
		s.cut = limit
		return true
	}
	return s.idle() && spec.For == 0
}

// idle reports whether both sides have nothing left to do.
func (s *session) idle() bool { return s.ends[0].idle && s.ends[1].idle }

// listen waits for whatever happens next.
func (s *session) listen(ctx context.Context, tick <-chan time.Time) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case a, ok := <-s.ends[0].answers:
		return s.ends[0].heard(a, ok)
	case a, ok := <-s.ends[1].answers:
		return s.ends[1].heard(a, ok)
	case <-s.link.ended():
		return s.link.death()
	case <-s.taps[0].ended:
		return s.taps[0].err
	case <-s.taps[1].ended:
		return s.taps[1].err
	case <-tick:
		s.progress(s.share(), fmt.Sprintf("running for %s", s.now().Sub(0).Std().Round(100*time.Millisecond)))
	}
	return nil
}

// drain lets what is on its way arrive: after a run whose work is done, all of it; after one that was cut, as much as
// belongs to the trace.
func (s *session) drain(ctx context.Context, tick <-chan time.Time) error {
	until := s.now().Add(grace)
	if s.cut == 0 {
		until = max(s.now(), s.lastInjection()).Add(s.job.Spec.RTT() + settled)
	}
	for most := until.Add(drainMost); s.now() < most; {
		if s.now() >= until {
			if busy, err := s.link.busy(); err != nil || !busy || s.cut != 0 {
				return err
			}
		}
		if err := s.listen(ctx, tick); err != nil {
			return err
		}
	}
	return nil
}

// lastInjection is when the last crafted packet enters the link.
func (s *session) lastInjection() (last vtime.Time) {
	for _, in := range s.job.Spec.Injections {
		last = max(last, vtime.Time(in.At))
	}
	return last
}

func (s *session) share() float64 {
	if f := s.job.Spec.For; f > 0 {
		return float64(s.now()) / float64(f)
	}
	return min(s.ends[0].share, s.ends[1].share)
}

// halt stops both endpoints, lets the link drain, asks it what it did, and closes the taps. It does as much as the living
// allow; the first error is returned.
func (s *session) halt() (first error) {
	keep := func(err error) {
		if first == nil {
			first = err
		}
	}
	for _, e := range s.ends {
		var err error
		e.end, err = e.order(order{Op: opStop}, saysStopped)
		keep(err)
	}
	time.Sleep((s.job.Spec.RTT() + 20*vtime.Millisecond).Std())
	var err error
	s.lead, err = s.link.report()
	keep(err)
	for _, t := range s.taps {
		keep(t.close())
	}
	return first
}

// verify lets each side compare its memory with what the other posted.
func (s *session) verify(context.Context) error {
	for side, e := range s.ends {
		if e.end.Pending > 0 && s.job.Spec.For == 0 {
			s.evidence.Incomplete = fmt.Sprintf("%d requests of %s never completed", e.end.Pending, e.side)
		}
		s.evidence.Counters = append(s.evidence.Counters, counters(e)...)
		if _, err := e.order(order{Op: opVerify, Work: s.ends[1-side].end.Work}, saysVerified); err != nil {
			return err
		}
	}
	return nil
}
