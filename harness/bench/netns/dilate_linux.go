package netns

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/measure"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/plan"
	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// undilatable names a part of a job that runs in the machine's time; "" if all parts can run in the time of the Spec.
func (b *Bench) undilatable(job *bench.Job) string {
	if b.Device != nil {
		return "a device keeps the machine's time"
	}
	if over, err := overKernelTCP(job); over && err == nil {
		return "the kernel's TCP keeps the machine's time; --param tcp=lite does not"
	}
	for side, impl := range job.Impls {
		if !scenario.Foreign(impl.Name) || slices.Contains(impl.Features, contract.FeatureDilate) {
			continue
		}
		if slices.Contains(impl.Features, "spec") {
			return impl.Name + " reads the text of the run and does not declare " + contract.FeatureDilate
		}
		if slices.Contains(impl.Features, engine.Unreliable) {
			return impl.Name + " gives messages up after a fixed time, and does not declare " + contract.FeatureDilate
		}
		if drive.MeetsRNR(job.Spec, trace.Side(side)) {
			return impl.Name + " may be sent RNR NAKs, whose timer is a fixed code, and does not declare " +
				contract.FeatureDilate
		}
	}
	return ""
}

// dilatable checks the factor that a job asks for.
func (b *Bench) dilatable(job *bench.Job) error {
	if !job.Dilation.Valid() {
		return fmt.Errorf("netns: dilation %d: want a power of two from 1 to %d", job.Dilation, vtime.MaxDilation)
	}
	if why := b.undilatable(job); job.Dilation.Dilated() && why != "" {
		return fmt.Errorf("netns: --dilate %s: %s: %w", job.Dilation, why, bench.ErrUnsupported)
	}
	return nil
}

// dilate chooses the length of a second of the Spec: that of the job, or the one that this machine, under its present
// load, is expected to need.
func (s *session) dilate(ctx context.Context) (vtime.Dilation, error) {
	k, why := s.job.Dilation, "as asked for"
	switch {
	case k > 0:
	case s.bench.undilatable(s.job) != "":
		k, why = 1, s.bench.undilatable(s.job)
	default:
		host, err := measure.Now(ctx, s.bench.Self)
		if err != nil {
			return 1, err
		}
		k, why = expected(host, demand(s.spec, s.job.Impls))
		if least := s.job.Least; k < least {
			k, why = least, "a smaller factor was not enough"
		}
		s.evidence.Stretches = true
	}
	s.evidence.Dilation = k
	s.fact("time dilation", fmt.Sprintf("%s, %s", k, why))
	if k.Dilated() && s.job.Chosen != nil {
		s.job.Chosen(fmt.Sprintf("a second of the run lasts %s s: %s; %s", k, why, cost(s.spec, k)))
	}
	return k, nil
}

// Margins between a measurement of the machine and its expected speed: it may be busier a moment later.
const (
	spareLate   = 2   // the longest wait of a run over that of a fifth of a second
	spareFrames = 0.5 // of the frames that it could carry
)

// expected returns the smallest factor at which a machine keeps up with the given packets in a second of the Spec.
func expected(h measure.Host, packets float64) (vtime.Dilation, string) {
	byRate := packets / (spareFrames * h.Packets)
	byLate := spareLate * float64(h.Late) / float64(promptLeast)
	k := vtime.Dilation(1)
	for float64(k) < max(byRate, byLate) && k < vtime.MaxDilation {
		k = k.Doubled()
	}
	return k, fmt.Sprintf("the link may carry %.2g packets in a second, this machine carries some %.2g now, "+
		"and lets a thread wait for %s", packets, spareFrames*h.Packets, h.Late.Short())
}

// demand is the largest number of packets in a second of the Spec, both directions together: the rate of the lines, or
// the packets that the queues of the connections release in a round trip, and as many answers where the responder keeps
// out-of-order packets and acknowledges each; 0 for a link without a rate, for which no dilation is computed.
func demand(s *scenario.Spec, impls [2]engine.Implementation) (packets float64) {
	for side, l := range plan.RouteOf(s, false).WAN().Ways() {
		if l.Rate == 0 {
			continue
		}
		line := 1 / l.Rate.Time(s.QP[side].MTU+plan.FrameOverhead).Seconds()
		window := 0.0
		for _, load := range s.Loads {
			if int(load.From) == side {
				window += float64(s.QPs*s.QP[side].QueueDepth) * float64(s.QP[side].Packets(uint32(load.Mean())))
			}
		}
		if rtt := s.RTT().Seconds(); rtt > 0 {
			line = min(line, window/rtt)
		}
		if slices.Contains(impls[1-side].Features, "sr") {
			line *= 2
		}
		packets += line
	}
	return packets
}

// cost states the least time that the run takes on the machine.
func cost(s *scenario.Spec, k vtime.Dilation) string {
	length := s.For
	for _, l := range s.Loads {
		q := &s.QP[l.From]
		bytes := q.LineBytes(uint32(l.Mean())) * l.Count * s.QPs
		if rate := plan.RouteOf(s, false).WAN().Way(l.From).Rate; s.For == 0 {
			length = max(length, rate.Time(bytes)+s.RTT())
		}
	}
	const measured, rest = 6, 100 * vtime.Millisecond // round trips of the measurements, and the wait at the end
	whole := k.Machine(length + measured*s.RTT() + rest)
	return fmt.Sprintf("%s of the Spec without losses take %.0f s", length.Short(), math.Ceil(whole.Seconds()))
}
