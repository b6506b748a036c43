package netns

import (
	"errors"
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/certify"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// probe measures one direction of the link with packets to a QP that nobody has: single ones for the delay, then a burst
// of full packets for the rate. It runs before and after the traffic, while the link loses nothing.
type probe struct {
	from   trace.Side
	clock  *packetio.Clock
	mouth  *packetio.Port // sends
	tx, rx *packetio.Port // watch both ends; a socket does not see what it sends itself
	mtu    int
	sent   map[psn.PSN]vtime.Time
	got    []arrival
	next   psn.PSN
	burst  psn.PSN // first packet of the burst
}

type arrival struct {
	psn psn.PSN
	at  vtime.Time
}

// probed is what was measured.
type probed struct {
	Delays []vtime.Duration // one per single probe that arrived, in order of sending
	Sent   int              // single probes
	Burst  certify.Burst    // all zero when it was not measured
}

// The shape of a measurement.
const (
	probeQP      = 0xFFFFFF
	probeSingles = 60
	probePayload = 16
	probeBytes   = probePayload + frameOverhead
	probeGap     = 2 * vtime.Millisecond
	probeBurst   = 20 * vtime.Millisecond // of line time
)

// measure probes both directions, one after the other.
func measure(t *Topology, clock *packetio.Clock, mtu int, rate [2]unit.Rate, rtt vtime.Duration) (out [2]probed, err error) {
	var ears, mouths [2]*packetio.Port
	for side, n := range []*Namespace{t.A, t.B} {
		device := []string{DeviceA, DeviceB}[side]
		for _, port := range []**packetio.Port{&ears[side], &mouths[side]} {
			err := n.Do(func() (err error) {
				*port, err = packetio.Open(device, clock, packetio.Options{Outgoing: true, RoCE: true})
				return err
			})
			if err != nil {
				return out, err
			}
			defer func() { err = errors.Join(err, (*port).Close()) }()
		}
	}
	for side := range out {
		p := &probe{from: trace.Side(side), clock: clock, mouth: mouths[side], tx: ears[side], rx: ears[1-side], mtu: mtu, sent: map[psn.PSN]vtime.Time{}}
		if err := p.run(rate[side], rtt); err != nil {
			return out, fmt.Errorf("netns: probe from %s: %w", p.from, err)
		}
		out[side] = p.result()
	}
	return out, nil
}

// run sends the singles and the burst and collects what arrives.
func (p *probe) run(rate unit.Rate, rtt vtime.Duration) error {
	wait := packetio.NewWaiter(p.clock, p.tx.Fd(), p.rx.Fd())
	until := func(at vtime.Time, done func() bool) error {
		for p.clock.Now() < at && !done() {
			if err := wait.Wait(at); err != nil {
				return err
			}
			if err := p.collect(); err != nil {
				return err
			}
		}
		return nil
	}
	never := func() bool { return false }
	for range probeSingles {
		if err := p.send(1, probePayload); err != nil {
			return err
		}
		if err := until(p.clock.Now().Add(probeGap), never); err != nil {
			return err
		}
	}
	patience := rtt + 300*vtime.Millisecond
	all := func() bool { return len(p.got) == len(p.sent) && len(p.sent) == int(p.next) }
	if err := until(p.clock.Now().Add(patience), all); err != nil {
		return err
	}
	p.burst = p.next
	if rate == 0 {
		return nil
	}
	n := min(max(int(probeBurst/rate.Time(p.mtu+frameOverhead)), 20), 500)
	if err := p.send(n, p.mtu); err != nil {
		return err
	}
	return until(p.clock.Now().Add(patience+vtime.Duration(n)*rate.Time(p.mtu+frameOverhead)), all)
}

// frameOverhead is what a probe costs on the line beside its payload: that of a full packet, and the DETH.
const frameOverhead = 82 + 8

// send hands n probes to the device at once.
func (p *probe) send(n, payload int) error {
	frames := make([][]byte, 0, n)
	for range n {
		packet := roce.Packet{BTH: roce.BTH{Opcode: roce.UDSendOnly, PKey: roce.DefaultPKey, DestQP: probeQP, PSN: p.next}, Len: payload}
		var f roce.Frame
		drive.Frame(&f, p.from, 0, &packet)
		frames = append(frames, f.AppendTo(nil))
		p.next = p.next.Next()
	}
	for len(frames) > 0 {
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

// collect reads both ports: outgoing probes at the sender tell when they were sent, the others when they arrived.
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

// result evaluates what was collected.
func (p *probe) result() probed {
	r := probed{Sent: probeSingles}
	var first vtime.Time
	for _, a := range p.got {
		sent, ok := p.sent[a.psn]
		switch {
		case a.psn.Less(p.burst) && ok:
			r.Delays = append(r.Delays, a.at.Sub(sent))
		case a.psn.Less(p.burst):
		case r.Burst.Arrived == 0:
			first, r.Burst = a.at, certify.Burst{Arrived: 1, WireBytes: p.mtu + frameOverhead}
		default:
			r.Burst.Arrived++
			r.Burst.Span = a.at.Sub(first)
		}
	}
	return r
}
