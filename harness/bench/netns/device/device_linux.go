package device

import (
	"cmp"
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/station"
	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// Device is a foreign implementation at one end of the link, or at both, driven by a stock tool. The Spec must be one
// that dut.Fit has returned for the tool, or dut.FitPair for two.
type Device struct {
	Side trace.Side
	Tool *dut.Tool
	Peer *dut.Tool // passive, at the other end; nil is an endpoint
	// by side, where tools run; nil is this machine: the kernel's soft-RoCE on the end's network device
	Places [2]station.Place
}

// Far reports whether the device is on another machine: then both are, where there are two.
func (d *Device) Far() bool { return d != nil && d.Places[d.Side] != nil }

// headers is the maximum length of a RoCEv2 packet without its payload, from IPv4 to the ICRC.
const headers = 80

// attach prepares the device of a side for a tool.
func (t *Tools) attach(side trace.Side, tool *dut.Tool) (*running, error) {
	place := t.places[side]
	a, detach, err := place.Attach(side)
	if err != nil {
		return nil, err
	}
	t.later(detach)
	t.kernels[side] = a.Kernel
	if needs := tool.MTU + headers; a.MTU > 0 && a.MTU < needs {
		return nil, fmt.Errorf("netns: packets of %d bytes at %s take an MTU of %d, and its interface has %d; ip "+
			"link set INTERFACE mtu 9000 there, or lower --mtu", tool.MTU, side, needs, a.MTU)
	}
	t.site.Fact("device at "+side.String(), a.What+" under "+tool.Program)
	for _, f := range a.Identity {
		t.site.Fact(f[0]+" at "+side.String(), f[1])
	}
	at := dut.Setting{Device: a.Device, GID: a.GID, Own: drive.Addr(side), Peer: drive.Addr(side.Other())}
	return &running{side: side, tool: tool, place: place, at: at, said: &contract.Log{},
		counted: counted{read: a.Counters}, exited: make(chan struct{}), done: make(chan struct{}),
		over: make(chan struct{}), enough: make(chan struct{}),
		clock: packetio.NewClock(t.site.Base), doneAt: vtime.Never, goneAt: vtime.Never}, nil
}

// noteKernels reports the kernels of far devices. Waivers depend on the fact named "kernel"; two different kernels have
// none.
func (t *Tools) noteKernels() {
	a, b := t.kernels[trace.A], t.kernels[trace.B]
	if a != b && a != "" && b != "" {
		t.site.Fact("kernel at A", a)
		t.site.Fact("kernel at B", b)
	} else if one := cmp.Or(a, b); one != "" {
		t.site.Fact("kernel", one)
	}
}

// mine returns the parameters of this program's end for the tool. A tool that serves also learns the size of the buffer
// that the Spec needs.
func mine(r *running, sp *scenario.Spec) dut.Identity {
	side := r.side.Other()
	q := sp.Ends(0)[side]
	va, key := drive.Remote(sp, side, 0)
	if !r.tool.Active {
		r.tool.Message = max(r.tool.Message, r.tool.Buffer(drive.RemoteLen(sp, r.side)))
	}
	return dut.Identity{Addr: drive.Addr(side), QPN: q.QPN, PSN: q.SendPSN, Key: key, Buffer: va, Expects: q.RecvPSN}
}

// learn copies the tool's parameters into the Spec.
func (t *Tools) learn(r *running, sp *scenario.Spec) error {
	peer := r.meeting.Peer
	sp.Devices[r.side] = scenario.Device{QPN: peer.QPN, Key: peer.Key, Buffer: peer.Buffer, Fill: r.tool.Fill()}
	sp.QP[r.side].SendPSN, sp.QP[r.side.Other()].RecvPSN = peer.PSN, peer.PSN
	sp.QP[r.side.Other()].SendPSN, sp.QP[r.side].RecvPSN = r.meeting.Wants, r.meeting.Wants
	sp.QP[r.side].Timeout = r.meeting.Timeout
	// Two tools agree on the limit of both devices, which need not be that of this program's end.
	if peer.Reads > 0 && t.second != nil {
		sp.QP[r.side].MaxRdAtomic, sp.QP[r.side].MaxDestRd = peer.Reads, peer.Reads
	}
	if peer.Addr != drive.Addr(r.side) {
		return fmt.Errorf("netns: %s says that it is at %s; want %s", r.tool.Program, peer.Addr, drive.Addr(r.side))
	}
	return nil
}
