package remote

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/child"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/device"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/station"
	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// cable is the process that joins a real cable to the device's end of the network, and the earlier counters of both
// ends of the cable.
type cable struct {
	host    *Host
	process *child.Child
	answers *json.Decoder // output of the process

	mu    sync.Mutex // held during an order
	whole *carried   // totals; nil until the process has stopped
	err   error      // reason why the cable broke; nil while it works

	before  ends
	soft    bool         // the host's kernel computes the transport
	restore func() error // restores the stamping of the near port
	stamps  string       // of the near port: which PTP clock its hardware stamps by, or why it does not
}

// pair holds the addresses of the device and of its peer.
type pair struct{ Device, Peer [6]byte }

// peerMAC returns the address on the cable of the peer of a side. It differs from the bench's address, which may be
// that of the device at the other side: soft-RoCE does not send frames for its own address.
func peerMAC(side trace.Side) [6]byte {
	mac := drive.MAC(side.Other())
	mac[4] = 0xFF
	return mac
}

var _ device.Joined = (*cable)(nil)

// Join implements device.Joiner.
func (h *Host) Join(end device.End) (device.Joined, error) {
	d, err := h.Identify()
	if err != nil {
		return nil, err
	}
	c := &cable{host: h, soft: d.Device.Driver == station.SoftRoCE}
	l := laid{Base: end.Base, Inner: end.Device, Outer: h.At.Cable, Side: end.Side, Echo: c.soft,
		Here: pair{drive.MAC(end.Side), drive.MAC(end.Side.Other())}, There: pair{Peer: peerMAC(end.Side)}}
	mac, err := net.ParseMAC(d.Network.MAC)
	if err != nil || len(mac) != len(l.There.Device) {
		return nil, h.error(fmt.Errorf("%s has no Ethernet address", h.At.Interface))
	}
	copy(l.There.Device[:], mac)
	l.PTP = c.stamp()
	outer, err := packetio.Open(h.At.Cable, packetio.NewClock(end.Base),
		packetio.Options{Promiscuous: true, Hardware: true})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("remote: cable to %s: %w", h.At.Name, err), c.restored())
	}
	err = h.cabled(outer)
	if err == nil {
		err = c.lay(end, &l, outer)
	}
	if err = errors.Join(err, outer.Close()); err != nil { // the process has a copy
		return nil, errors.Join(err, c.restored())
	}
	if c.before, err = c.counters(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// stamp has the near port stamp frames by its hardware, where it can, and returns the index of its PTP clock; noPTP
// where it cannot, which the certificate tells.
func (c *cable) stamp() int {
	c.restore = func() error { return nil }
	has, err := station.StampsOf(c.host.At.Cable)
	if err == nil && has.Received && has.All && has.Clock >= 0 {
		var release func() error
		if release, err = station.StampAll(c.host.At.Cable); err == nil {
			c.restore, c.stamps = release, fmt.Sprintf("PTP clock %d", has.Clock)
			return has.Clock
		}
	}
	if c.stamps = "its hardware stamps no frames"; err != nil {
		c.stamps = "it has no stamps of its hardware: " + quote.Line(err.Error(), quote.Sentence)
	}
	return noPTP
}

// lay starts the process, which inherits a socket on the cable, and waits until it carries frames.
func (c *cable) lay(end device.End, l *laid, outer *packetio.Port) error {
	file, err := outer.File()
	if err != nil {
		return err
	}
	c.process, err = end.Launch(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	c.answers = json.NewDecoder(c.process.Stdout)
	first, err := json.Marshal(l)
	if err == nil {
		_, err = c.order(string(first))
	}
	if err != nil {
		_ = c.process.Close() // the first error says more
	}
	return err
}

// order sends one order, and returns the counters so far.
func (c *cable) order(text string) (w carried, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil || c.whole != nil {
		return w, c.err
	}
	if _, err = io.WriteString(c.process.Stdin, text+"\n"); err == nil {
		err = c.answers.Decode(&w)
	}
	switch {
	case err != nil:
		c.err = c.host.error(c.process.Death("ended in the middle of the run"))
	case w.Error != "":
		c.err = c.host.error(fmt.Errorf("cable: %s", quote.Line(w.Error, quote.Sentence)))
	case text == cableStop:
		c.whole = &w
	}
	return w, c.err
}

// Begin implements device.Joined. Certify reports a broken cable.
func (c *cable) Begin() { _, _ = c.order(cableBegin) }

// End implements device.Joined.
func (c *cable) End() { _, _ = c.order(cableEnd) }

// Close ends the cable; a second call does nothing but return the same error.
func (c *cable) Close() error {
	if _, err := c.order(cableStop); err != nil {
		_ = c.process.Close() // it has ended, or is ended now; the first error says more
		return errors.Join(err, c.restored())
	}
	return errors.Join(c.process.Close(), c.restored())
}

// restored restores the stamping of the near port, once.
func (c *cable) restored() error {
	restore := c.restore
	c.restore = nil
	if restore == nil {
		return nil
	}
	return restore()
}
