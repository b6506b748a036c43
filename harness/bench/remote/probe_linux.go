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

// Offset is how far a host's wall clock is from this machine's, to within half the round trip of the question.
type Offset struct {
	Offset time.Duration // ahead of here
	Error  time.Duration // it is this much more or less
}

// Clock asks for a host's clock a few times, and keeps the answer that came soonest.
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

// SendFrames puts raw frames on the device's end of the cable.
func (h *Host) SendFrames(frames ...[]byte) error {
	return h.Call(line.OpSendFrame, line.Frames{Network: h.At.Interface, Frames: frames}, nil)
}

// WatchFrames counts the frames that arrive at the device's end of the cable, with a mark behind the addresses, until
// one has come or the time is over.
func (h *Host) WatchFrames(mark []byte, patience time.Duration) (int, error) {
	var seen line.Seen
	err := h.Call(line.OpWatchFrames, line.Frames{Network: h.At.Interface, Mark: mark,
		For: int(patience.Milliseconds())}, &seen)
	return seen.Count, err
}

// Probe is an Ethernet frame of a type for local experiments (IEEE 802, 88B5), to everybody on a cable, with a number
// that nobody else has.
type Probe struct {
	Frame []byte
	Mark  []byte // what it begins with behind the addresses
}

const probeLength = 60

// NewProbe makes one that comes from an address; nil is one of this program's.
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

// Seen reports whether it is among the frames that wait at a port, which are taken.
func (p *Probe) Seen(at *packetio.Port) (bool, error) {
	frames, err := at.Receive()
	for i := range frames {
		if data := frames[i].Data; len(data) > atType && bytes.HasPrefix(data[atType:], p.Mark) {
			return true, err
		}
	}
	return false, err
}

// cabled makes sure that what the host sends arrives at a port here, so that a cable in another port is not taken for a
// silent device.
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
