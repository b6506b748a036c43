package device

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/child"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/topology"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/station"
	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// here is this machine as the place of a tool: soft-RoCE on the network device of an end, in the namespace of this
// process, because soft-RoCE has no other.
type here struct{ network *topology.Topology }

var _ station.Place = here{}

// rdmaDevices are the names of the RDMA devices while a run lasts, by side.
var rdmaDevices = [2]string{"gauntlet0", "gauntlet1"}

// rdmaDriver is the name of soft-RoCE to the kernel.
const rdmaDriver = "rxe"

// Attach puts soft-RoCE on the end's device.
func (h here) Attach(side trace.Side) (*station.Attached, func() error, error) {
	name, device := rdmaDevices[side], h.network.Ends()[side].Host.Device
	_ = netlink.RdmaLinkDel(name) // left by a run that was killed
	if err := netlink.RdmaLinkAdd(name, rdmaDriver, device); err != nil {
		return nil, nil, fmt.Errorf("netns: soft-RoCE on %s: %w; load rdma_rxe and crc32_generic, "+
			"be in the first network namespace, or use --bench lab", device, err)
	}
	detach := func() error { return netlink.RdmaLinkDel(name) }
	gid, err := station.AwaitGID(os.DirFS("/sys"), name, 1, drive.Addr(side), child.Patience)
	if err != nil {
		_ = detach() // the first error says more
		return nil, nil, fmt.Errorf("netns: %w", err)
	}
	read := func() (station.Counters, error) { return station.CountersOf(os.DirFS("/sys"), name, 1, device), nil }
	return &station.Attached{Device: name, GID: gid, What: "soft-RoCE", Counters: read,
		Identity: [][2]string{{"driver", station.SoftRoCE}}}, detach, nil
}

// Start implements station.Place.
func (h here) Start(side trace.Side, program string, args []string, idle bool,
	said io.Writer) (station.Process, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return nil, fmt.Errorf(
			"netns: %s is not installed; install perftest, rdmacm-utils and ibverbs-providers", program)
	}
	p := &process{exec.Command(path, args...)}
	p.Stdout, p.Stderr = said, said
	p.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := h.network.StartIn(h.network.Ends()[side].In, p.Cmd); err != nil {
		return nil, err
	}
	if idle {
		station.StepBack(p.Process.Pid)
	}
	return p, nil
}

// Listen implements station.Place.
func (here) Listen() (port int, accept func(time.Time) (net.Conn, error), stop func(), err error) {
	l, err := net.Listen("tcp4", loopback+":0")
	if err != nil {
		return 0, nil, nil, fmt.Errorf("netns: %w", err)
	}
	accept = func(until time.Time) (net.Conn, error) {
		_ = l.(*net.TCPListener).SetDeadline(until) // a closed listener shows in the next call
		return l.Accept()
	}
	return l.Addr().(*net.TCPAddr).Port, accept, func() { _ = l.Close() }, nil
}

const loopback = "127.0.0.1"

// FreePort implements station.Place.
func (h here) FreePort() (int, error) {
	port, _, stop, err := h.Listen()
	if err == nil {
		stop()
	}
	return port, err
}

// Dial implements station.Place.
func (here) Dial(port int) (net.Conn, error) {
	return net.Dial("tcp4", net.JoinHostPort(loopback, strconv.Itoa(port)))
}

// Run implements station.Place.
func (here) Run(program string, args ...string) (string, error) {
	text, err := exec.Command(program, args...).Output()
	return string(text), err
}

// Watch implements station.Place.
func (here) Watch() (station.Watched, error) {
	c, err := station.WatchCompletions()
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Err implements station.Place: this machine is never lost.
func (here) Err() error { return nil }

// process is a tool on this machine.
type process struct{ *exec.Cmd }

// Wait implements station.Process.
func (p *process) Wait() error { return station.ExitOf(p.Cmd.Wait()) }

// Kill implements station.Process.
func (p *process) Kill() { _ = p.Process.Kill() }

// Pause implements station.Process.
func (p *process) Pause() { _ = p.Process.Signal(syscall.SIGSTOP) }

// Resume implements station.Process.
func (p *process) Resume() { _ = p.Process.Signal(syscall.SIGCONT) }

// Glance implements station.Process.
func (p *process) Glance(done, over <-chan struct{}) { station.Glance(p.Process.Pid, done, over) }

// Memory implements station.Process.
func (p *process) Memory(address uint64, n int) ([]byte, error) {
	return station.Memory(p.Process.Pid, address, n)
}
