package netns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

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

// foreign is a tool in the course of a run.
type foreign struct {
	*Device
	at      dut.Setting
	child   *exec.Cmd
	said    *contract.Log
	exited  chan struct{}
	meeting *dut.Meeting
	done    chan struct{} // closed when an active tool has done its work, or has ended
	over    chan struct{} // closed when the run is
	clock   *packetio.Clock
	doneAt  vtime.Time // when an active tool said that it had done its work; vtime.Never until then. Set before done is closed
	goneAt  vtime.Time // when it had ended, set before exited is closed
	found   inspected
	watched *completions // nil when they are not
}

// introduce makes the RDMA device, starts the tool, and takes its numbers into a copy of the Spec.
func (s *session) introduce() error {
	d := s.bench.Device
	switch {
	case d == nil:
		return nil
	case d.Peer != nil:
		return s.introducePair(d)
	}
	h, err := s.attach(d)
	if err != nil {
		return err
	}
	if d.Tool.ByCM() {
		err = h.call(s, s.mine(d), h.at)
	} else {
		err = h.meet(s.topology, s.mine(d))
	}
	if err != nil {
		return err
	}
	s.foreign = h
	s.later(h.close)
	h.lookBefore()
	h.pause()
	return s.learn(h)
}

// attach puts soft-RoCE on the end's device, for the tool that it returns.
func (s *session) attach(d *Device) (*foreign, error) {
	name := rdmaDevices[d.Side]
	_ = netlink.RdmaLinkDel(name) // what a run that was killed left
	if err := netlink.RdmaLinkAdd(name, rdmaDriver, endDevices[d.Side]); err != nil {
		return nil, fmt.Errorf("netns: soft-RoCE on %s: %w; load rdma_rxe and crc32_generic, be in the first network namespace, or use --bench lab",
			endDevices[d.Side], err)
	}
	s.later(func() error { return netlink.RdmaLinkDel(name) })
	s.fact("device at "+d.Side.String(), "soft-RoCE under "+d.Tool.Program)
	gid, err := findGID(d.Side)
	at := dut.Setting{Device: name, GID: gid, Own: drive.Addr(d.Side), Peer: drive.Addr(d.Side.Other())}
	return &foreign{Device: d, at: at, said: &contract.Log{}, exited: make(chan struct{}), done: make(chan struct{}), over: make(chan struct{}),
		clock: packetio.NewClock(s.base), doneAt: vtime.Never, goneAt: vtime.Never}, err
}

// findGID waits for the GID of the end's address, which appears a little after the address.
func findGID(side trace.Side) (int, error) {
	raw := drive.Addr(side).As16()
	var want strings.Builder
	for i := 0; i < len(raw); i += 2 {
		fmt.Fprintf(&want, ":%02x%02x", raw[i], raw[i+1])
	}
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
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
func (s *session) mine(d *Device) dut.Identity {
	side := d.Side.Other()
	q := s.job.Spec.Ends(0)[side]
	va, key := drive.Remote(s.job.Spec, side, 0)
	if !d.Tool.Active {
		d.Tool.Message = max(d.Tool.Message, d.Tool.Buffer(drive.RemoteLen(s.job.Spec, d.Side)))
	}
	return dut.Identity{Addr: drive.Addr(side), QPN: q.QPN, PSN: q.SendPSN, Key: key, Buffer: va,
		Expects: q.RecvPSN}
}

// learn takes the tool's numbers into a copy of the Spec.
func (s *session) learn(h *foreign) error {
	spec, peer := *s.job.Spec, h.meeting.Peer
	spec.Devices[h.Side] = scenario.Device{QPN: peer.QPN, Key: peer.Key, Buffer: peer.Buffer, Fill: h.Tool.Fill()}
	spec.QP[h.Side].SendPSN, spec.QP[h.Side.Other()].RecvPSN = peer.PSN, peer.PSN
	spec.QP[h.Side.Other()].SendPSN, spec.QP[h.Side].RecvPSN = h.meeting.Wants, h.meeting.Wants
	spec.QP[h.Side].Timeout = h.meeting.Timeout
	if peer.Reads > 0 && s.bench.Device.Peer != nil { // two tools agree on what both devices can do, and not on what this end would
		spec.QP[h.Side].MaxRdAtomic, spec.QP[h.Side].MaxDestRd = peer.Reads, peer.Reads
	}
	if peer.Addr != drive.Addr(h.Side) {
		return fmt.Errorf("netns: %s says that it is at %s; want %s", h.Tool.Program, peer.Addr, drive.Addr(h.Side))
	}
	job := *s.job
	job.Spec = &spec
	s.job = &job
	return nil
}

// meet starts the tool and goes through its exchange.
func (h *foreign) meet(t *Topology, mine dut.Identity) error {
	conn, err := h.dial(t)
	if err != nil {
		return err
	}
	h.meeting, err = h.Tool.Meet(conn, mine)
	return h.met(err)
}

// dial starts the tool and returns the connection for its exchange, over the loopback of the namespace that both are in.
func (h *foreign) dial(t *Topology) (net.Conn, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("netns: exchange with %s: %w", h.Tool.Program, err)
	}
	defer listener.Close()
	port := listener.Addr().(*net.TCPAddr).Port
	if !h.Tool.Active {
		_ = listener.Close() // the port is the tool's now
	}
	h.at.Port = port
	if err := h.start(t, h.at); err != nil {
		return nil, err
	}
	conn, err := h.connect(listener, port)
	if err != nil {
		return nil, h.fail(err)
	}
	return conn, nil
}

// watch closes done when the tool has done its work. One that serves has none, and waits for whatever comes.
func (h *foreign) watch() {
	defer close(h.done)
	switch {
	case h.Tool.Answers:
		<-h.exited
	case h.Tool.Active:
		if h.meeting.Ended() {
			h.doneAt = h.clock.Now()
			h.pause()
		}
	}
}

// start starts the tool.
func (h *foreign) start(t *Topology, at dut.Setting) error {
	path, err := exec.LookPath(h.Tool.Program)
	if err != nil {
		return fmt.Errorf("netns: %s is not installed; install perftest, rdmacm-utils and ibverbs-providers", h.Tool.Program)
	}
	h.child = exec.Command(path, h.Tool.Args(at)...)
	h.child.Stdout, h.child.Stderr = h.said, h.said
	h.child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	n := t.A
	if h.Side == trace.B {
		n = t.B
	}
	if err := t.StartIn(n, h.child); err != nil {
		return err
	}
	if h.Tool.Spins() {
		stepBack(h.child.Process.Pid)
	}
	go func() {
		_ = h.child.Wait() // how it ended is in what it said
		h.goneAt = h.clock.Now()
		close(h.exited)
	}()
	return nil
}

// stepBack lets everything else go before a program that never sleeps: where there is one processor, the endpoint and the link
// would wait for it. What a device does for the program is the kernel's work, and goes on.
func stepBack(pid int) {
	_ = unix.SchedSetAttr(pid, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0)
}

// pause stops a tool that polls, while nothing can happen that concerns it: the kernel answers for it, and what it would burn meanwhile
// is most of what a run takes of a processor. One that sleeps is left alone.
func (h *foreign) pause() { h.signal(unix.SIGSTOP) }

// resume lets it go on.
func (h *foreign) resume() { h.signal(unix.SIGCONT) }

// leave pauses it for good, because the run is over.
func (h *foreign) leave() {
	if h != nil {
		close(h.over)
		h.pause()
	}
}

func (h *foreign) signal(which syscall.Signal) {
	if h != nil && h.Tool.Polls() {
		_ = h.child.Process.Signal(which) // it may have ended
	}
}

// How a tool that only waits is let look: without rest for long enough that it has posted what it can, then for a moment every few
// milliseconds. That is longer than each of the steps in which perftest measures the clock, so that a step ends with each look.
const (
	attentive = 50 * time.Millisecond
	look      = 50 * time.Microsecond
	rest      = 2500 * time.Microsecond
)

// glance lets a tool look now and then until it has done its work, or the run is over. It steps back as well: otherwise what wakes to
// pause it would wait until its slice is over.
func (h *foreign) glance() {
	if !h.stays(attentive) {
		return
	}
	stepBack(h.child.Process.Pid)
	for {
		h.pause()
		if !h.stays(rest) {
			return
		}
		h.resume()
		moment := unix.NsecToTimespec(look.Nanoseconds())
		_ = unix.Nanosleep(&moment, nil) // Go's timers wake a millisecond late; a signal only ends the look
	}
}

// stays reports whether the tool is still at work after a time.
func (h *foreign) stays(d time.Duration) bool {
	select {
	case <-h.done:
	case <-h.over:
	case <-time.After(d):
		return true
	}
	return false
}

// connect returns the connection with the tool, whichever of the two makes it. A tool that ends before has said why.
func (h *foreign) connect(listener net.Listener, port int) (net.Conn, error) {
	deadline := time.Now().Add(patience)
	if h.Tool.Active {
		_ = listener.(*net.TCPListener).SetDeadline(deadline)
		return listener.Accept()
	}
	for {
		conn, err := net.Dial("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil || time.Now().After(deadline) {
			return conn, err
		}
		select {
		case <-h.exited:
			return nil, errors.New("dut: " + h.Tool.Program + " ended before it listened")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// begin wakes the tools when the run begins, and lets an active one send a little later.
func (s *session) begin(ctx context.Context) error {
	if s.foreign == nil {
		return nil
	}
	if err := s.sleep(ctx, s.epoch); err != nil {
		return err
	}
	s.foreign.resume()
	s.passive.resume()
	if err := s.sleep(ctx, s.epoch.Add(dut.Lead)); err != nil {
		return err
	}
	err := s.foreign.meeting.Begin()
	if err == nil && s.foreign.Tool.Waits() {
		go s.foreign.glance()
	}
	return err
}

// sleep returns at a time of the clock, or when the run is interrupted.
func (s *session) sleep(ctx context.Context, until vtime.Time) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(until.Sub(s.clock.Now()).Std()):
		return nil
	}
}

// idle reports whether the tool has done what it was told.
func (h *foreign) idle() bool {
	if h == nil {
		return true
	}
	select {
	case <-h.done:
		return true
	default:
		return false
	}
}

// close ends the exchange, the tool if that does not, and what watches it. A tool that polls would not look, and is ended first: its
// kernel then takes leave for it.
func (h *foreign) close() error {
	if h.Tool.Polls() {
		h.kill()
	}
	err := h.meeting.Close()
	h.end()
	if h.watched != nil {
		err = errors.Join(err, h.watched.close())
	}
	return err
}

// kill ends the tool at once, also one that is paused.
func (h *foreign) kill() {
	_ = h.child.Process.Kill()
	<-h.exited
}

// cutShort ends a tool that is still at work when the run is over. Soft-RoCE would go on sending, and take the processor from all
// that is left to do.
func (h *foreign) cutShort() {
	if h != nil && h.Tool.Active && !h.idle() {
		h.kill()
	}
}

// end waits a little for the end of the tool, and ends it if it does not come.
func (h *foreign) end() {
	select {
	case <-h.exited:
	case <-time.After(100 * time.Millisecond):
		h.kill()
	}
}
