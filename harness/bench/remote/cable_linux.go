package remote

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/device"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/station"
	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/certify"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// cable joins the device's end of a network on this machine to the real cable, both ways: what the device sends seems to be sent by
// that end, and what arrives at the end goes to the device. Addresses of IP are those of the bench, which the ICRC covers. Of the
// Ethernet addresses the device keeps its own, its peer has one that is only on the cable, and both are exchanged here.
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
	late           atomic.Int64  // how long a frame was on this machine between cable and link, at most, in vtime
	list           [][]byte
	before         ends
	soft           bool // the network device counts what the device sends
}

// pair is the addresses of the device and of its peer.
type pair struct{ device, peer [6]byte }

// peerMAC is the address of the peer of a side on the cable. It is not the bench's, which may be the device's own at the other side:
// soft-RoCE keeps what is for its own address to itself.
func peerMAC(side trace.Side) [6]byte {
	mac := drive.MAC(side.Other())
	mac[4] = 0xFF
	return mac
}

// ends are the counters of both ends of the cable.
type ends struct{ far, near station.Counters }

var _ device.Joined = (*cable)(nil)

// Join implements device.Joiner.
func (h *Host) Join(end device.End) (device.Joined, error) {
	d, err := h.Describe()
	if err != nil {
		return nil, err
	}
	c := &cable{host: h, clock: packetio.NewClock(end.Base), ended: make(chan struct{}), soft: d.Device.Driver == station.SoftRoCE}
	c.here, c.there.peer = pair{drive.MAC(end.Side), drive.MAC(end.Side.Other())}, peerMAC(end.Side)
	mac, err := net.ParseMAC(d.Network.MAC)
	if err != nil || len(mac) != len(c.there.device) {
		return nil, h.error(fmt.Errorf("%s has no Ethernet address", h.At.Interface))
	}
	copy(c.there.device[:], mac)
	if c.inner, err = end.Open(c.clock, packetio.Options{}); err != nil {
		return nil, err
	}
	if c.outer, err = packetio.Open(h.At.Cable, c.clock, packetio.Options{Promiscuous: true}); err != nil {
		_ = c.inner.Close() // the first error says more
		return nil, fmt.Errorf("remote: cable to %s: %w", h.At.Name, err)
	}
	if c.before, err = c.counters(); err != nil {
		return nil, errors.Join(err, c.inner.Close(), c.outer.Close())
	}
	go func() {
		defer close(c.ended)
		c.err = c.carry()
	}()
	return c, nil
}

// counters reads those of both ends.
func (c *cable) counters() (e ends, err error) {
	e.near = station.CountersOf(os.DirFS("/sys"), "", 0, c.host.At.Cable)
	e.far, err = c.host.Counters()
	return e, err
}

// carry carries frames until it is told to stop. It takes no real-time priority: it shares a process whose collector of garbage it
// would wait for, and keep from the processor at the same time.
func (c *cable) carry() error {
	if err := packetio.LockThread(); err != nil {
		return err
	}
	wait := packetio.NewWaiter(c.clock, c.inner.Fd(), c.outer.Fd())
	for !c.stop.Load() {
		if err := wait.Wait(c.clock.Now().Add(50 * vtime.Millisecond)); err != nil {
			return err
		}
		out, err := c.inner.Receive()
		if err == nil {
			err = c.pass(c.outer, out, c.toDevice)
		}
		if err != nil {
			return err
		}
		in, err := c.outer.Receive()
		if err == nil {
			c.received.Add(uint64(len(in)))
			err = c.pass(c.inner, in, c.fromDevice)
		}
		if err != nil {
			return err
		}
	}
	return nil
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
	if len(frames) > 0 {
		if late := int64(c.clock.Now().Sub(frames[0].Time)); late > c.late.Load() {
			c.late.Store(late)
		}
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
	return len(frame) > atDestQP+8 && binary.BigEndian.Uint16(frame[atType:]) == 0x0800 && frame[14] == 0x45 && frame[atProtocol] == 17 &&
		binary.BigEndian.Uint16(frame[atPort:]) == roce.Port
}

// Begin implements device.Joined.
func (c *cable) Begin() error {
	c.late.Store(0)
	return nil
}

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

// settled is how long the counters of both ends may take to agree.
const settled = time.Second

// Certify implements device.Joined: nothing was lost on the cable, by the counters of both its ends. They are compared while it
// carries, because a device may go on sending when its tool does not.
func (c *cable) Certify() ([]certify.Item, error) {
	var items []certify.Item
	for until := time.Now().Add(settled); ; time.Sleep(20 * time.Millisecond) {
		after, err := c.counters()
		if err != nil {
			return nil, err
		}
		items = c.judge(&after)
		if whole := certify.Issue("", items); whole.Valid || time.Now().After(until) {
			break
		}
	}
	if err := c.Close(); err != nil {
		return nil, err
	}
	return append(items, c.lateness(), c.item("frames not carried", 0, c.lost, "exact: frames that this machine dropped between cable and link; lower the rate")), nil
}

// judge compares what was carried with what both ends have counted since.
func (c *cable) judge(after *ends) []certify.Item {
	items := []certify.Item{
		c.item("errors here", 0, grown(c.before.near, after.near), "exact: what "+c.host.At.Cable+" counted as damaged or dropped"),
		c.item("errors there", 0, grown(c.before.far, after.far), "exact: what "+c.host.At.Interface+" counted as damaged or dropped"),
	}
	if c.soft { // of an RNIC they leave out what it sends by itself
		const why = "exact: what one end has sent the other has received; nothing else may use the cable"
		delta := func(name string) uint64 { return after.far[name] - c.before.far[name] }
		items = append(items, c.item("frames there", c.sent.Load(), delta("net/rx_packets"), why),
			c.item("frames from there", delta("net/tx_packets"), c.received.Load(), why))
	}
	return items
}

// mostLate is what rules allow a device for a reaction beyond its own (rule.Drain).
const mostLate = 5 * time.Millisecond

// lateness judges how long frames were on this machine between the tap and the cable. How late the host lets a device be that computes
// in its kernel is not measured.
func (c *cable) lateness() certify.Item {
	late := vtime.Duration(c.late.Load()).Std()
	return certify.Item{Name: "cable of " + c.host.At.Name + " was late", Want: "at most " + mostLate.String(), Got: late.Round(10 * time.Microsecond).String(),
		Bound: "what rules allow for a reaction; leave more processor time to this machine, or lower the rate", OK: late <= mostLate, Property: validity.Lateness}
}

func (c *cable) item(what string, want, got uint64, bound string) certify.Item {
	return certify.Item{Name: "cable of " + c.host.At.Name + " " + what, Want: fmt.Sprint(want), Got: fmt.Sprint(got), Bound: bound, OK: want == got, Property: validity.Capture}
}

// grown adds up by how much the counters have grown that tell of damaged and dropped frames.
func grown(before, after station.Counters) (n uint64) {
	for _, name := range []string{"rx_errors", "rx_crc_errors", "rx_missed_errors", "rx_fifo_errors", "tx_errors", "tx_dropped", "tx_fifo_errors"} {
		n += after["net/"+name] - before["net/"+name]
	}
	return n
}
