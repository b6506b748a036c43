package remote

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/device"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/station"
	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// cable joins the device's end of a network on this machine to the real cable, both ways: what the device sends seems
// to be sent by that end, and what arrives at the end goes to the device. Addresses of IP are those of the bench, which
// the ICRC covers. Of the Ethernet addresses the device keeps its own, its peer has one that is only on the cable, and
// both are exchanged here.
type cable struct {
	host         *Host
	inner, outer *packetio.Port
	here, there  pair // the Ethernet addresses on the link, and on the cable
	clock        *packetio.Clock
	stop         atomic.Bool
	ended        chan struct{}
	err          error

	sent, received atomic.Uint64 // frames to the device, and from it, whatever they were
	lost           uint64        // that one of the two ends did not take; read it after ended
	running        atomic.Bool   // the run is: what is late counts
	list           [][]byte

	watching bool           // what is late counts, to the goroutine that carries; it alone has these until ended
	late     vtime.Duration // how long a frame was on this machine between cable and link, at most
	echoes   echoes

	before ends
	soft   bool // the transport is computed by the host's kernel
}

// pair is the addresses of the device and of its peer.
type pair struct{ device, peer [6]byte }

// peerMAC is the address of the peer of a side on the cable. It is not the bench's, which may be the device's own at
// the other side: soft-RoCE keeps what is for its own address to itself.
func peerMAC(side trace.Side) [6]byte {
	mac := drive.MAC(side.Other())
	mac[4] = 0xFF
	return mac
}

var _ device.Joined = (*cable)(nil)

// Join implements device.Joiner.
func (h *Host) Join(end device.End) (device.Joined, error) {
	d, err := h.Describe()
	if err != nil {
		return nil, err
	}
	c := &cable{host: h, clock: packetio.NewClock(end.Base), ended: make(chan struct{}),
		soft: d.Device.Driver == station.SoftRoCE}
	c.here, c.there.peer = pair{drive.MAC(end.Side), drive.MAC(end.Side.Other())}, peerMAC(end.Side)
	mac, err := net.ParseMAC(d.Network.MAC)
	if err != nil || len(mac) != len(c.there.device) {
		return nil, h.error(fmt.Errorf("%s has no Ethernet address", h.At.Interface))
	}
	copy(c.there.device[:], mac)
	if c.soft { // a transport in hardware does not wait for its host
		c.echoes = newEchoes(end.Side, c.there)
	}
	if c.inner, err = end.Open(c.clock, packetio.Options{}); err != nil {
		return nil, err
	}
	if c.outer, err = packetio.Open(h.At.Cable, c.clock, packetio.Options{Promiscuous: true}); err != nil {
		_ = c.inner.Close() // the first error says more
		return nil, fmt.Errorf("remote: cable to %s: %w", h.At.Name, err)
	}
	if err = h.cabled(c.outer); err == nil {
		c.before, err = c.counters()
	}
	if err != nil {
		return nil, errors.Join(err, c.inner.Close(), c.outer.Close())
	}
	go func() {
		defer close(c.ended)
		c.err = c.carry()
	}()
	return c, nil
}

// carry carries frames until it is told to stop. It takes no real-time priority: it shares a process whose collector of
// garbage it would wait for, and keep from the processor at the same time.
func (c *cable) carry() error {
	if err := packetio.LockThread(); err != nil {
		return err
	}
	wait := packetio.NewWaiter(c.clock, c.inner.Fd(), c.outer.Fd())
	for !c.stop.Load() {
		if err := wait.Wait(c.watch()); err != nil {
			return err
		}
		if err := c.exchange(); err != nil {
			return err
		}
	}
	return nil
}

// idle is how long nothing may happen before it is looked whether to stop.
const idle = 50 * vtime.Millisecond

// watch sees whether the run has begun or ended, and returns until when there is nothing to do but to wait for frames.
func (c *cable) watch() vtime.Time {
	now, running := c.clock.Now(), c.running.Load()
	switch {
	case running && !c.watching:
		c.echoes.begin(now)
	case !running && c.watching:
		c.echoes.end(now)
	}
	if c.watching = running; running {
		return min(now.Add(idle), c.echoes.next)
	}
	return now.Add(idle)
}

// exchange carries what waits, both ways.
func (c *cable) exchange() error {
	out, err := c.inner.Receive()
	if err == nil {
		err = c.pass(c.outer, out, c.toDevice)
	}
	if err == nil && c.watching {
		err = c.ask()
	}
	if err != nil {
		return err
	}
	in, err := c.outer.Receive()
	if err != nil {
		return err
	}
	c.received.Add(uint64(len(in)))
	for i := range in {
		c.echoes.hear(in[i].Data, c.clock.Now())
	}
	return c.pass(c.inner, in, c.fromDevice)
}

// ask sends an echo request, if one is due.
func (c *cable) ask() error {
	request, err := c.echoes.due(c.clock.Now())
	if request == nil || err != nil {
		return err
	}
	c.list = append(c.list[:0], request)
	n, err := c.outer.Send(c.list) // one for which there is no room is asked again
	c.sent.Add(uint64(n))
	return err
}

// pass puts those of some frames on the other side that belong there.
func (c *cable) pass(to *packetio.Port, frames []packetio.Packet, belongs func([]byte) bool) error {
	list := c.list[:0]
	for i := range frames {
		if belongs(frames[i].Data) {
			list = append(list, frames[i].Data)
		}
	}
	c.list = list
	defer c.passed(frames)
	for patience := 0; len(list) > 0 && patience < 100; patience++ {
		n, err := to.Send(list)
		if err != nil {
			return err
		}
		if to == c.outer {
			c.sent.Add(uint64(n))
		}
		if list = list[n:]; len(list) > 0 {
			station.Moment(100 * time.Microsecond) // its queue is full
		}
	}
	c.lost += uint64(len(list))
	return nil
}

// passed notes how late the oldest of some frames has left.
func (c *cable) passed(frames []packetio.Packet) {
	if len(frames) > 0 && c.watching {
		c.late = max(c.late, c.clock.Now().Sub(frames[0].Time))
	}
}

// Where a frame of RoCEv2 over IPv4 has what is looked at.
const (
	atSource   = 6
	atType     = 12
	atProtocol = 14 + 9
	atPort     = 14 + 20 + 2
	atDestQP   = 14 + 20 + 8 + 4
	probeQP    = 0xFFFFFF // nobody's: a bench measures its link with packets to it
)

// toDevice makes a frame one for the device. What measures the link stays here.
func (c *cable) toDevice(frame []byte) bool {
	if !ofRoCE(frame) || binary.BigEndian.Uint32(frame[atDestQP:])&psn.Mask == probeQP {
		return false
	}
	swap(frame, c.here.device, c.there.device)
	swap(frame[atSource:], c.here.peer, c.there.peer)
	return true
}

// fromDevice makes a frame one of the end. What the host's kernel says by itself stays out.
func (c *cable) fromDevice(frame []byte) bool {
	if !ofRoCE(frame) {
		return false
	}
	swap(frame, c.there.peer, c.here.peer)
	swap(frame[atSource:], c.there.device, c.here.device)
	return true
}

// swap puts one address in place of another.
func swap(field []byte, from, to [6]byte) {
	if [6]byte(field) == from {
		copy(field, to[:])
	}
}

// ofRoCE reports whether a frame is RoCEv2 over IPv4 without options or tags, which is what a bench speaks.
func ofRoCE(frame []byte) bool {
	return len(frame) > atDestQP+8 && binary.BigEndian.Uint16(frame[atType:]) == 0x0800 && frame[14] == 0x45 &&
		frame[atProtocol] == 17 &&
		binary.BigEndian.Uint16(frame[atPort:]) == roce.Port
}

// Begin implements device.Joined.
func (c *cable) Begin() { c.running.Store(true) }

// End implements device.Joined.
func (c *cable) End() { c.running.Store(false) }

// Close ends the cable; a second call does nothing but return the same error.
func (c *cable) Close() error {
	if c.stop.Swap(true) {
		return c.err
	}
	<-c.ended
	for _, p := range []*packetio.Port{c.inner, c.outer} {
		counts, err := p.Counts()
		c.lost += uint64(counts.Dropped)
		c.err = cmp.Or(c.err, err, p.Close())
	}
	return c.err
}
