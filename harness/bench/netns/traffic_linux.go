package netns

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// startParties starts the processes; they wait for their start time.
func (s *session) startParties(context.Context) (err error) {
	t := s.topology
	for side, n := range []*Namespace{t.A, t.B} {
		if s.bench.own()[side] {
			continue
		}
		if s.ends[side], err = s.join(n, "endpoint", trace.Side(side), endDevices[side]); err != nil {
			return err
		}
	}
	if s.acts != nil {
		s.box, err = s.join(t.X, "box", trace.A, DeviceLAN, DeviceWAN)
	}
	return err
}

// endDevices are the devices of the ends, by side.
var endDevices = [2]string{DeviceA, DeviceB}

// join starts one process on its devices.
func (s *session) join(n *Namespace, role string, side trace.Side, devices ...string) (*party, error) {
	streams, err := overKernelTCP(s.job)
	if err != nil {
		return nil, err
	}
	events, report, err := s.report(n)
	if err == nil {
		err = s.mute(n)
	}
	if err != nil {
		return nil, err
	}
	s.events = append(s.events, events)
	setup := s.setup(side)
	setup.Device, setup.Report, setup.Streams = strings.Join(devices, " "), report, streams
	e, err := s.startParty(n, role, side, append([]contract.Order{setup}, drive.Orders(s.job.Spec, side)...))
	if err != nil {
		return nil, err
	}
	s.later(e.close)
	if s.job.Impls[side].NewStream != nil {
		s.fact(e.name+" TCP", cmp.Or(e.ready.TCP, engine.LiteTCP))
	}
	return e, nil
}

// mute keeps the kernel of a namespace from answering what is meant for the program in it.
func (s *session) mute(n *Namespace) error {
	return n.Do(func() error {
		mute, err := packetio.Mute(roce.Port)
		if err == nil {
			s.later(mute.Close)
		}
		return err
	})
}

// setup is the first line for the program of a side, without its devices.
func (s *session) setup(side trace.Side) contract.Order {
	spec, hosts := s.job.Spec, [2]Host{HostA(), HostB()}
	own, peer := hosts[side], hosts[side.Other()]
	link := spec.Link.AB
	if side == trace.B {
		link = spec.Link.BA
	}
	return contract.Order{
		Op: contract.OpSetup, Contract: contract.Version, Side: side.String(), MAC: own.MAC.String(), IP: own.IP.String(),
		PeerMAC: peer.MAC.String(), PeerIP: peer.IP.String(), QPs: spec.QPs, Rate: int64(cmp.Or(link.Port, link.Rate)),
		RTT: int64(spec.RTT() / vtime.Nanosecond), Deadline: int64(min(spec.Limit, maxRun) / vtime.Millisecond), Seed: spec.Seed,
		Spec: spec.String(),
	}
}

// watch begins to watch the ports, and what must not end before the run.
func (s *session) watch(context.Context) error {
	if err := s.openTaps(); err != nil {
		return err
	}
	s.watchHealth()
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
	for _, l := range s.legs {
		if err := l.chain.loud(s.epoch); err != nil {
			return err
		}
	}
	for _, e := range s.parties() {
		e.started = s.base + int64(s.epoch)/int64(vtime.Nanosecond)
		if err := e.tell(&contract.Order{Op: contract.OpStart, At: e.started}); err != nil {
			return err
		}
	}
	err := s.begin(ctx)
	if err == nil {
		err = s.await(ctx)
	}
	if s.cut == 0 {
		s.cut = max(1, s.clock.Now()-s.epoch)
	}
	return err
}

// now is the time of the run.
func (s *session) now() vtime.Time { return s.clock.Now() - s.epoch }

// await returns when all are idle and what they sent has had time to arrive, when the time of the Spec is over, or
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
		return fmt.Errorf("netns: limit reached before the work was done (%s%s); %s", vtime.Duration(s.cut), s.unfinished(), s.remedy())
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

// settling is how long the run is watched when both sides are idle. The source of an unreliable transport is idle when it has
// sent everything, and its target then waits for what it lacks.
func (s *session) settling() vtime.Duration {
	for _, impl := range s.job.Impls {
		if slices.Contains(impl.Features, engine.Unreliable) {
			return settled + targetWaits
		}
	}
	return settled
}

// targetWaits is longer than the timers of a target are by default.
const targetWaits = 250 * vtime.Millisecond

// idle reports whether all have nothing left to do: a box may have to do what A has been told is done.
func (s *session) idle() bool {
	return s.foreign.idle() && !slices.ContainsFunc(s.parties(), func(e *party) bool { return !e.idle })
}

// unfinished names the programs that have work left, and how much they had to say: one that talks without end has no time to work.
func (s *session) unfinished() (text string) {
	for _, e := range s.parties() {
		if !e.idle {
			text += fmt.Sprintf("; %s is not idle after %d lines", e.name, e.lines)
		}
	}
	if h := s.foreign; !h.idle() {
		text += fmt.Sprintf("; %s at %s is not done", h.Tool.Program, h.Side)
	}
	return text
}

// remedy is what to do where the time was too short. A tool may try for ever, so that more time is of no use to it.
func (s *session) remedy() string {
	if s.foreign != nil {
		return "that is all a device is given; ask it for fewer messages, or for such as the link can carry"
	}
	return "raise it with run limit="
}

// listen waits for whatever happens next.
func (s *session) listen(ctx context.Context, tick <-chan time.Time) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case a, ok := <-s.ends[0].said():
		return s.ends[0].heard(a, ok)
	case a, ok := <-s.ends[1].said():
		return s.ends[1].heard(a, ok)
	case a, ok := <-s.box.said():
		return s.box.heard(a, ok)
	case err := <-s.ailing:
		return err
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
		until = max(s.now(), s.lastInjection()).Add(s.job.Spec.RTT() + s.settling())
	}
	for most := until.Add(drainMost); s.now() < most; {
		if s.now() >= until {
			if busy, err := s.underway(); err != nil || !busy || s.cut != 0 {
				return err
			}
		}
		if err := s.listen(ctx, tick); err != nil {
			return err
		}
	}
	return nil
}

// underway reports whether a link holds packets, or a box does.
func (s *session) underway() (bool, error) {
	for _, l := range s.legs {
		if busy, err := l.chain.busy(); busy || err != nil {
			return busy, err
		}
	}
	return s.box != nil && !s.box.idle, nil
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
	share := 1.0
	for _, e := range s.ends {
		if e != nil {
			share = min(share, e.share)
		}
	}
	return share
}

// halt stops all, lets the links drain, asks them what they did, and closes the taps. It does as much as the living
// allow; the first error is returned.
func (s *session) halt() (first error) {
	keep := func(err error) {
		if first == nil {
			first = err
		}
	}
	s.foreign.leave()
	s.passive.leave()
	for _, e := range s.parties() {
		var err error
		e.end, err = e.order(&contract.Order{Op: contract.OpStop}, contract.SaysStopped)
		keep(err)
		keep(s.silence(e))
	}
	time.Sleep((s.job.Spec.RTT() + 20*vtime.Millisecond).Std())
	for _, l := range s.legs {
		var err error
		l.lead, err = l.chain.report()
		keep(err)
		for _, t := range l.taps {
			keep(t.close())
		}
	}
	if f := s.foreign; f != nil && f.Peer == nil {
		keep(f.lookAfter())
	}
	s.foreign.cutShort()
	return first
}

// verify lets each side compare its memory with what the other posted.
func (s *session) verify(context.Context) error {
	if err := s.inDoubt(); err != nil {
		return err
	}
	for side, e := range s.ends {
		if e == nil {
			continue
		}
		if s.job.Spec.For == 0 {
			s.evidence.Incomplete = cmp.Or(s.evidence.Incomplete, e.end.Undone)
		}
		s.evidence.Count(e.side.String()+" dropped: ", e.counters)
		s.evidence.Share(e.side, e.shared)
		s.evidence.Processor[side] = time.Duration(e.end.Processor)
		s.fact(e.name, fmt.Sprintf("%d QPs made in %s; %d MiB of memory at most", s.job.Spec.QPs,
			time.Duration(e.ready.SetupTime).Round(time.Millisecond), e.end.MaxMemory>>20))
		if !e.caps.Tells("memory") {
			continue
		}
		verify := contract.Order{Op: contract.OpVerify}
		if peer := s.ends[1-side]; peer != nil { // a device does not tell
			verify.Memory = peer.end.Memory
		}
		if _, err := e.order(&verify, contract.SaysVerified); err != nil {
			return err
		}
	}
	if s.box == nil {
		return nil
	}
	s.evidence.Divided(s.job.Spec.QPs)
	s.evidence.Count("box: ", s.box.counters)
	_, err := s.box.order(&contract.Order{Op: contract.OpVerify}, contract.SaysVerified) // it has no memory, but its report ends here
	return err
}

// told reports whether all ends make a kind of report.
func (s *session) told(kind string) bool {
	return !slices.ContainsFunc(s.ends[:], func(e *party) bool { return e != nil && e.caps != nil && !e.caps.Tells(kind) })
}
