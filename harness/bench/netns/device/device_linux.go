package device

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/child"
	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// Device is a foreign implementation at one end of the link, or at both: the kernel's soft-RoCE on the end's network device,
// driven by a stock tool. It is in the namespace of this process, because soft-RoCE has no other. The Spec must be one that
// dut.Fit made for the tool, or dut.FitPair for two.
type Device struct {
	Side trace.Side
	Tool *dut.Tool
	Peer *dut.Tool // passive, at the other end; nil is an endpoint
}

// rdmaDevices are the names of the RDMA devices while a run lasts, by side.
var rdmaDevices = [2]string{"gauntlet0", "gauntlet1"}

// Names of the kernel's file system and of the driver.
const (
	rdmaClass  = "/sys/class/infiniband/"
	rdmaDriver = "rxe"
)

// attach puts soft-RoCE on the end's device, for a tool.
func (t *Tools) attach(side trace.Side, tool *dut.Tool) (*running, error) {
	name, device := rdmaDevices[side], t.site.Network.Ends()[side].Host.Device
	_ = netlink.RdmaLinkDel(name) // what a run that was killed left
	if err := netlink.RdmaLinkAdd(name, rdmaDriver, device); err != nil {
		return nil, fmt.Errorf("netns: soft-RoCE on %s: %w; load rdma_rxe and crc32_generic, be in the first network namespace, or use --bench lab",
			device, err)
	}
	t.later(func() error { return netlink.RdmaLinkDel(name) })
	t.site.Fact("device at "+side.String(), "soft-RoCE under "+tool.Program)
	gid, err := findGID(side)
	at := dut.Setting{Device: name, GID: gid, Own: drive.Addr(side), Peer: drive.Addr(side.Other())}
	return &running{side: side, tool: tool, at: at, said: &contract.Log{}, exited: make(chan struct{}), done: make(chan struct{}), over: make(chan struct{}),
		clock: packetio.NewClock(t.site.Base), doneAt: vtime.Never, goneAt: vtime.Never}, err
}

// findGID waits for the GID of the end's address, which appears a little after the address.
func findGID(side trace.Side) (int, error) {
	raw := drive.Addr(side).As16()
	var want strings.Builder
	for i := 0; i < len(raw); i += 2 {
		fmt.Fprintf(&want, ":%02x%02x", raw[i], raw[i+1])
	}
	for deadline := time.Now().Add(child.Patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		paths, _ := filepath.Glob(rdmaClass + rdmaDevices[side] + "/ports/1/gids/*") // the pattern is well-formed
		for _, p := range paths {
			if text, err := os.ReadFile(p); err == nil && strings.TrimSpace(string(text)) == want.String()[1:] {
				return strconv.Atoi(filepath.Base(p))
			}
		}
	}
	return 0, fmt.Errorf("netns: device %s has no GID of %s", rdmaDevices[side], drive.Addr(side))
}

// mine is what the tool is told of this program's end. A tool that serves is also told how large a buffer the Spec needs.
func mine(r *running, sp *scenario.Spec) dut.Identity {
	side := r.side.Other()
	q := sp.Ends(0)[side]
	va, key := drive.Remote(sp, side, 0)
	if !r.tool.Active {
		r.tool.Message = max(r.tool.Message, r.tool.Buffer(drive.RemoteLen(sp, r.side)))
	}
	return dut.Identity{Addr: drive.Addr(side), QPN: q.QPN, PSN: q.SendPSN, Key: key, Buffer: va,
		Expects: q.RecvPSN}
}

// learn takes the tool's numbers into the Spec.
func (t *Tools) learn(r *running, sp *scenario.Spec) error {
	peer := r.meeting.Peer
	sp.Devices[r.side] = scenario.Device{QPN: peer.QPN, Key: peer.Key, Buffer: peer.Buffer, Fill: r.tool.Fill()}
	sp.QP[r.side].SendPSN, sp.QP[r.side.Other()].RecvPSN = peer.PSN, peer.PSN
	sp.QP[r.side.Other()].SendPSN, sp.QP[r.side].RecvPSN = r.meeting.Wants, r.meeting.Wants
	sp.QP[r.side].Timeout = r.meeting.Timeout
	if peer.Reads > 0 && t.second != nil { // two tools agree on what both devices can do, and not on what this end would
		sp.QP[r.side].MaxRdAtomic, sp.QP[r.side].MaxDestRd = peer.Reads, peer.Reads
	}
	if peer.Addr != drive.Addr(r.side) {
		return fmt.Errorf("netns: %s says that it is at %s; want %s", r.tool.Program, peer.Addr, drive.Addr(r.side))
	}
	return nil
}
