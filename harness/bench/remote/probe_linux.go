package remote

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/remote/line"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/station"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// Offset is the difference between a host's wall clock and this machine's.
type Offset struct {
	Offset time.Duration // time by which the host's clock is ahead
	Error  time.Duration // uncertainty: half the round trip of the request
}

// Clock requests a host's time a few times, and uses the answer with the shortest round trip.
func (h *Host) Clock(times int) (best Offset, err error) {
	for i := range times {
		var c line.Clock
		began := time.Now()
		if err := h.Call(line.OpClock, nil, &c); err != nil {
			return best, err
		}
		half := time.Since(began) / 2
		if i == 0 || half < best.Error {
			best = Offset{time.Unix(0, c.Wall).Sub(began.Round(0).Add(half)), half}
		}
	}
	return best, nil
}

// SendFrames sends raw frames from the device's end of the cable.
func (h *Host) SendFrames(frames ...[]byte) error {
	return h.Call(line.OpSendFrame, line.Frames{Network: h.At.Interface, Frames: frames}, nil)
}

// WatchFrames counts the frames with mark after the addresses that arrive at the device's end of the cable, until one
// has arrived or the time is over.
func (h *Host) WatchFrames(mark []byte, patience time.Duration) (int, error) {
	var seen line.Seen
	err := h.Call(line.OpWatchFrames, line.Frames{Network: h.At.Interface, Mark: mark,
		For: int(patience.Milliseconds())}, &seen)
	return seen.Count, err
}

// Probe is a broadcast Ethernet frame with a type for local experiments (IEEE 802, 88B5) and a random number, so that
// no other frame equals it.
type Probe struct {
	Frame []byte
	Mark  []byte // first bytes after the addresses
}

const probeLength = 60

// NewProbe returns a probe from an address; nil is an address of this program.
func NewProbe(from net.HardwareAddr) *Probe {
	if from == nil {
		from = net.HardwareAddr{2, 0, 0, 0x77, 0, 0xFF}
	}
	number := make([]byte, 16)
	_, _ = rand.Read(number) // never fails
	p := &Probe{Mark: append([]byte("\x88\xB5gauntlet"), number...)}
	p.Frame = slices.Concat(bytes.Repeat([]byte{0xFF}, 6), from, p.Mark)
	p.Frame = append(p.Frame, make([]byte, probeLength-len(p.Frame))...)
	return p
}

// Seen reports whether the probe is among the frames that wait at a port, and removes these frames.
func (p *Probe) Seen(at *packetio.Port) (bool, error) {
	frames, err := at.Receive()
	for i := range frames {
		if data := frames[i].Data; len(data) > atType && bytes.HasPrefix(data[atType:], p.Mark) {
			return true, err
		}
	}
	return false, err
}

// cabled checks that frames that the host sends arrive at a port here, so that a cable in a wrong port is not taken for
// a silent device.
func (h *Host) cabled(port *packetio.Port) error {
	probe := NewProbe(nil)
	if err := h.SendFrames(probe.Frame); err != nil {
		return err
	}
	for until := time.Now().Add(settled); ; station.Moment(time.Millisecond) {
		seen, err := probe.Seen(port)
		switch {
		case seen || err != nil:
			return err
		case time.Now().After(until):
			return h.error(fmt.Errorf("no frame of %s arrives at %s here; look at the cable with: "+
				"gauntlet testbed check", h.At.Interface, h.At.Cable))
		}
	}
}
