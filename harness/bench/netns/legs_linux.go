package netns

import (
	"context"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/child"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/link"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/measure"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/plan"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/tap"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/topology"
	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/certify"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// leg is a hop of the path during a run.
type leg struct {
	hop    *plan.Hop
	ends   [2]topology.Cable // by side
	link   *link.Chain
	taps   [2]*tap.Tap // by side
	census measure.Census
	report link.Report // of the traffic
}

// legs are the hops of the path, from A to B.
type legs []*leg

// openLegs opens the links. The link of the Spec is made as chosen, the LAN of a middlebox always by a relay.
func (s *session) openLegs(choice link.Choice) error {
	route := plan.RouteOf(s.spec, s.acts != nil)
	for i := range route {
		l := &leg{hop: &route[i], ends: s.network.Hop(i)}
		site := &link.Site{Spec: s.spec, Namespace: s.network.M.Fd(), Ports: [2]string{l.ends[trace.A].Port,
			l.ends[trace.B].Port}, Base: s.base, Aside: s.devices.Ignored() != nil, Relay: s.relay,
			Processor: s.reserve, Scratch: s.shared, Fact: s.fact}
		var err error
		if l.link, err = link.Open(site, l.hop, choice); err != nil {
			return err
		}
		s.later(l.link.Close)
		s.legs = append(s.legs, l)
	}
	return nil
}

// relay starts the process of a relay.
func (s *session) relay() (*child.Child, error) {
	return child.Launch(s.network, s.network.M, plan.RoleRelay, child.Body(s.bench.Self, plan.RoleRelay))
}

// reserve reserves a processor for the relays, if there are two: nil when not. Relays take little time but must be
// punctual, so one processor is enough for both.
func (s *session) reserve() (*int, error) {
	if s.relays == nil {
		reserved, err := packetio.Reserve()
		if reserved == nil || err != nil {
			return nil, err
		}
		s.relays = reserved
		s.later(reserved.Close)
	}
	return &s.relays.Processor, nil
}

// watch starts the taps at both ends of every leg, and watches the processes that must not end before the run.
func (s *session) watch(context.Context) error {
	for _, l := range s.legs {
		for side := range l.ends {
			file, err := s.scratch("spool")
			if err != nil {
				return err
			}
			t, err := tap.Start(tap.Options{Place: l.place(trace.Side(side)), Open: l.ends[side].Open, Base: s.base,
				File: file, Ignore: s.devices.Ignored()})
			if err != nil {
				return err
			}
			l.taps[side] = t
			s.later(func() error { t.Close(); return nil })
		}
	}
	s.failed = s.legs.health()
	return nil
}

// openers open the devices at the ends of the leg, by side.
func (l *leg) openers() [2]measure.Opener {
	return [2]measure.Opener{l.ends[trace.A].Open, l.ends[trace.B].Open}
}

// place returns the tap at one end.
func (l *leg) place(side trace.Side) capture.Tap {
	return capture.Tap{Side: side, Hop: l.hop.Part, Device: l.ends[side].Host.Device}
}

// stop collects the report of the link, and closes the taps. The first error is returned.
func (l *leg) stop() (first error) {
	l.report, first = l.link.Report()
	for _, t := range l.taps {
		if err := t.Close(); first == nil {
			first = err
		}
	}
	return first
}

// measured is the measurement of the traffic by the taps and the link.
func (l *leg) measured() []certify.Measured {
	var taps [2]certify.Capture
	for side, t := range l.taps {
		taps[side] = certify.Capture{Drops: t.Dropped(), Swapped: t.Swapped()}
	}
	return l.census.Measured(l.hop, &l.report, taps)
}

// wan returns the leg whose link is that of the Spec.
func (l legs) wan() *leg { return l[len(l)-1] }

// delayOnly restricts the links to their delay.
func (l legs) delayOnly() error {
	for _, leg := range l {
		if err := leg.link.Quiet(); err != nil {
			return err
		}
	}
	return nil
}

// impairAll enables all impairments of the links, in a run that begins at epoch.
func (l legs) impairAll(epoch vtime.Time) error {
	for _, leg := range l {
		if err := leg.link.Loud(epoch); err != nil {
			return err
		}
	}
	return nil
}

// busy reports whether a link holds packets and knows it.
func (l legs) busy() (bool, error) {
	for _, leg := range l {
		if busy, err := leg.link.Busy(); busy || err != nil {
			return busy, err
		}
	}
	return false, nil
}

// seen returns the number of frames that the taps have captured so far.
func (l legs) seen() (n uint64) {
	for _, leg := range l {
		for _, t := range leg.taps {
			n += t.Seen()
		}
	}
	return n
}

// fresh returns the number of these frames that are no repetition.
func (l legs) fresh() (n uint64) {
	for _, leg := range l {
		for _, t := range leg.taps {
			n += t.Fresh()
		}
	}
	return n
}

// health collects the ends of links and taps, which have no reason to end before the run.
func (l legs) health() <-chan error {
	failed := make(chan error, 4*len(l)) // room for all: the receiver may have left
	watch := func(ended <-chan struct{}, why func() error) {
		go func() { <-ended; failed <- why() }()
	}
	for _, leg := range l {
		leg.link.Watch(watch)
		for _, t := range leg.taps {
			watch(t.Ended(), t.Err)
		}
	}
	return failed
}
