package remote

import (
	"fmt"
	"net"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/remote/line"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/station"
	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/testbed"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

var _ station.Place = (*Host)(nil)

// place returns the device and the network device of the testbed.
func (h *Host) place() line.Place {
	return line.Place{Device: h.At.Device, Port: h.At.Port, Network: h.At.Interface}
}

// prefix is the prefix length of the addresses of a run.
const prefix = 24

// Attach implements station.Place: the network device gets the address of the side, and an entry for its peer.
func (h *Host) Attach(side trace.Side) (*station.Attached, func() error, error) {
	d, err := h.Identify()
	if err != nil {
		return nil, nil, err
	}
	peer := peerMAC(side)
	var held line.Held
	err = h.Call(line.OpHold, line.Hold{Place: h.place(), Address: fmt.Sprintf("%s/%d", drive.Addr(side), prefix),
		Peer:    drive.Addr(side.Other()).String(),
		PeerMAC: net.HardwareAddr(peer[:]).String()}, &held)
	if err != nil {
		return nil, nil, err
	}
	detach := func() error { return h.Call(line.OpRelease, nil, nil) }
	if h.At.GID != testbed.FindGID && h.At.GID != held.GID {
		_ = detach() // the first error says more
		return nil, nil,
			h.error(fmt.Errorf("GID %d of %s is that of the test's address, and the testbed says gid=%d; "+
				"correct it or leave it out", held.GID, h.At.Device, h.At.GID))
	}
	return &station.Attached{Device: h.At.Device, GID: held.GID, What: d.Device.Kind(), Kernel: d.Kernel,
		MTU: d.Network.MTU, Counters: h.Counters, Identity: d.Device.Identity()}, detach, nil
}

// Identify returns what every run needs of the host's description of itself and of its device. It is an error if the
// device or its kernel is not the one of the first time: results of two versions are of neither.
func (h *Host) Identify() (*station.Description, error) { return h.describe(line.OpIdentify) }

// Describe is Identify with the whole description.
func (h *Host) Describe() (*station.Description, error) { return h.describe(line.OpDescribe) }

func (h *Host) describe(op string) (*station.Description, error) {
	d := &station.Description{}
	if err := h.Call(op, h.place(), d); err != nil {
		return nil, err
	}
	if h.known == nil {
		h.known = d
	}
	if what := h.known.Differs(d); what != "" {
		return nil, h.error(fmt.Errorf("%s: it changed while this program judged; run again, now that it is steady",
			what))
	}
	return d, nil
}

// Counters reads the counters of the device and of its network device.
func (h *Host) Counters() (c station.Counters, err error) {
	err = h.Call(line.OpCounters, h.place(), &c)
	return c, err
}

// Run implements station.Place.
func (h *Host) Run(program string, args ...string) (string, error) {
	var d line.Data
	err := h.Call(line.OpRun, line.Start{Program: program, Args: args}, &d)
	return string(d.Bytes), err
}

// Watch implements station.Place.
func (h *Host) Watch() (station.Watched, error) {
	if err := h.Call(line.OpWatch, nil, nil); err != nil {
		return nil, err
	}
	return &watched{host: h}, nil
}

// watched is a watch of completions on the host.
type watched struct {
	host *Host
	told bool
}

// Of implements station.Watched. It ends the watch.
func (w *watched) Of(qpn uint32) ([]int, error) {
	var s line.Statuses
	w.told = true
	err := w.host.Call(line.OpCompletions, line.Queue{QPN: qpn}, &s)
	return s.Statuses, err
}

// Close implements station.Watched.
func (w *watched) Close() error {
	if w.told {
		return nil
	}
	_, err := w.Of(0)
	return err
}
