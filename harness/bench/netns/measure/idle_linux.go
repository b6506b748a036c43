package measure

import (
	"context"
	"errors"
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/plan"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/certify"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// Idle is the measurement of a link without traffic.
type Idle struct {
	hop  *plan.Hop
	ways [2]probed // by sender
}

// Opener opens the device at an end of a hop.
type Opener func(*packetio.Clock, packetio.Options) (*packetio.Port, error)

// Setup describes the measurement: the link of a hop, by packets of a Spec.
type Setup struct {
	Hop   *plan.Hop
	Open  [2]Opener // by side
	Clock *packetio.Clock
	MTU   int            // payload of a full packet, in bytes
	RTT   vtime.Duration // of the whole path
}

// attempts bounds the measurements of an idle link: one during which the host paused says nothing about the link.
const attempts = 3

// Probe measures an idle link, which loses nothing meanwhile: again, up to three times, while its certificate is not
// valid.
func Probe(ctx context.Context, s Setup) (*Idle, error) {
	for n := 1; ; n++ {
		idle, err := s.probe(ctx)
		if err != nil {
			return nil, err
		}
		if n == attempts || certify.Certify("", certify.DefaultBounds(), idle.Measured()...).Valid {
			return idle, nil
		}
	}
}

// probe probes both directions, one after the other.
func (s *Setup) probe(ctx context.Context) (idle *Idle, err error) {
	var ears, mouths [2]*packetio.Port
	for side, open := range s.Open {
		for _, port := range []**packetio.Port{&ears[side], &mouths[side]} {
			if *port, err = open(s.Clock, packetio.Options{Outgoing: true, RoCE: true}); err != nil {
				return nil, err
			}
			defer func() { err = errors.Join(err, (*port).Close()) }()
		}
	}
	idle = &Idle{hop: s.Hop}
	for side, link := range s.Hop.Ways() {
		p := &probe{ctx: ctx, from: trace.Side(side), clock: s.Clock, mouth: mouths[side],
			tx: ears[side], rx: ears[1-side],
			mtu: s.MTU, rate: link.Rate, queue: link.Queue, sent: map[psn.PSN]vtime.Time{},
			patience: s.RTT + s.Clock.Dilation.Spec(probePatience)}
		if err := p.run(); err != nil {
			return nil, fmt.Errorf("netns: probe from %s: %w", p.from, err)
		}
		idle.ways[side] = p.result()
	}
	return idle, nil
}

// Measured is both directions, for a certificate.
func (i *Idle) Measured() []certify.Measured {
	out := measured(i.hop)
	for side := range out {
		m, p := &out[side], &i.ways[side]
		m.Probes = &certify.Probes{Sent: p.sent, Delays: p.delays, WireBytes: probeBytes}
		if p.burst.Arrived > 0 {
			m.Burst = &p.burst
		}
	}
	return out
}

// measured is both directions of a hop, of which nothing is known yet.
func measured(h *plan.Hop) []certify.Measured {
	names := h.Directions()
	return []certify.Measured{{Direction: names[trace.A], Link: h.Way(trace.A)},
		{Direction: names[trace.B], Link: h.Way(trace.B)}}
}
