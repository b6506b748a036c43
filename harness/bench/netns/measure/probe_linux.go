package measure

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/plan"
	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/certify"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// probe measures one direction of the link with packets to a QP that no end has: single ones for the delay, then a
// burst of full packets for the rate. It runs before and after the traffic, while the link loses nothing.
type probe struct {
	ctx      context.Context
	from     trace.Side
	clock    *packetio.Clock
	wait     *packetio.Waiter
	mouth    *packetio.Port // sends
	tx, rx   *packetio.Port // capture at both ends; a socket does not receive frames that it has sent itself
	mtu      int
	rate     unit.Rate
	queue    int
	patience vtime.Duration
	sent     map[psn.PSN]vtime.Time
	got      []arrival
	next     psn.PSN
	burst    psn.PSN // first packet of the burst
}

type arrival struct {
	psn psn.PSN
	at  vtime.Time
}

// probed is the measurement of one direction.
type probed struct {
	delays []vtime.Duration // one per single probe that arrived, in order of sending
	sent   int              // single probes
	burst  certify.Burst    // all zero when it was not measured
}

// The shape of a measurement.
const (
	probeQP      = 0xFFFFFF
	probeSingles = 60
	probePayload = 16
	probeBytes   = probePayload + plan.FrameOverhead
	probeBurst   = 20 * vtime.Millisecond // of line time
	probeFew     = 20                     // packets of a burst at least
	probeMany    = 800                    // and at most

	probeGap      = 2 * vtime.Millisecond   // machine time; a receiver has this time between two probes
	probePatience = 300 * vtime.Millisecond // machine time; the most that a frame may be late
)

// run sends the single probes and the burst, and collects their arrivals.
func (p *probe) run() error {
	p.wait = packetio.NewWaiter(p.clock, p.tx.Fd(), p.rx.Fd())
	gap := max(p.clock.Dilation.Spec(probeGap), 2*p.rate.Time(probeBytes)) // a probe must not wait for the previous one
	for range probeSingles {
		if err := p.send(1, probePayload); err != nil {
			return err
		}
		if err := p.listen(gap, false); err != nil {
			return err
		}
	}
	if err := p.listen(p.patience, true); err != nil {
		return err
	}
	p.burst = p.next
	if p.rate == 0 {
		return nil
	}
	step := p.rate.Time(p.mtu + plan.FrameOverhead)
	n := min(max(int(probeBurst/step), probeFew), probeMany, max(2, p.queue))
	if err := p.send(n, p.mtu); err != nil {
		return err
	}
	return p.listen(p.patience+vtime.Duration(n)*step, true)
}

// listen collects for d, or, if all is set, until all probes have arrived.
func (p *probe) listen(d vtime.Duration, all bool) error {
	for until := p.clock.Now().Add(d); p.clock.Now() < until; {
		if p.ctx.Err() != nil {
			return context.Cause(p.ctx)
		}
		if all && len(p.got) == int(p.next) && len(p.sent) == int(p.next) {
			return nil
		}
		if err := p.wait.Wait(min(until, p.clock.Now().Add(p.clock.Dilation.Spec(100*vtime.Millisecond)))); err != nil {
			return err
		}
		if err := p.collect(); err != nil {
			return err
		}
	}
	return nil
}

// send passes n probes to the device at once.
func (p *probe) send(n, payload int) error {
	frames := make([][]byte, 0, n)
	for range n {
		packet := roce.Packet{BTH: roce.BTH{Opcode: roce.UDSendOnly, PKey: roce.DefaultPKey, DestQP: probeQP,
			PSN: p.next}, Len: payload}
		var f roce.Frame
		drive.Frame(&f, p.from, 0, &packet)
		frames = append(frames, f.AppendTo(nil))
		p.next = p.next.Next()
	}
	for until := p.clock.Now().Add(p.patience); len(frames) > 0; {
		if p.clock.Now() > until {
			return errors.New("the device takes no more packets")
		}
		k, err := p.mouth.Send(frames)
		if err != nil {
			return err
		}
		frames = frames[k:]
		if err := p.collect(); err != nil { // empties the buffers while the device is full
			return err
		}
	}
	return nil
}

// collect reads both ports: outgoing probes at the sender give the times of sending, the others those of arrival.
func (p *probe) collect() error {
	for _, port := range []*packetio.Port{p.tx, p.rx} {
		frames, err := port.Receive()
		if err != nil {
			return err
		}
		for i := range frames {
			var f roce.Frame
			if f.Decode(frames[i].Data) != nil || f.Packet.DestQP != probeQP {
				continue
			}
			switch {
			case port == p.tx && frames[i].Outgoing:
				p.sent[f.Packet.PSN] = frames[i].Time
			case port == p.rx && !frames[i].Outgoing:
				p.got = append(p.got, arrival{f.Packet.PSN, frames[i].Time})
			}
		}
	}
	return nil
}

// result evaluates the collected times.
func (p *probe) result() probed {
	r := probed{sent: probeSingles}
	var train []arrival
	for _, a := range p.got {
		sent, ok := p.sent[a.psn]
		switch {
		case !a.psn.Less(p.burst):
			train = append(train, a)
		case ok:
			r.delays = append(r.delays, a.at.Sub(sent))
		}
	}
	r.burst = pace(train, p.rate.Time(p.mtu+plan.FrameOverhead))
	r.burst.WireBytes = p.mtu + plan.FrameOverhead
	return r
}

// pace measures the rate of a burst between the two least delayed packets, one from its beginning and one from its end:
// a packet may be late, because a thread slept, but never early, so that this is the rate of the line without such
// delays. Delays are estimated from the expected step between packets; the distance of the two packets is measured.
func pace(train []arrival, step vtime.Duration) certify.Burst {
	third := len(train) / 3
	if third == 0 {
		return certify.Burst{Arrived: len(train)}
	}
	late := func(a arrival) vtime.Duration {
		return a.at.Sub(train[0].at) - vtime.Duration(a.psn.Sub(train[0].psn))*step
	}
	soonest := func(a, b arrival) int { return cmp.Compare(late(a), late(b)) }
	first, last := slices.MinFunc(train[:third], soonest), slices.MinFunc(train[len(train)-third:], soonest)
	return certify.Burst{Arrived: last.psn.Sub(first.psn) + 1, Span: last.at.Sub(first.at)}
}
