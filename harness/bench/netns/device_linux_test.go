package netns

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
)

// apart moves the test's thread into a namespace of its own, which stands for that of a machine.
func apart(t *testing.T) {
	t.Helper()
	if err := Privileged(); err != nil {
		t.Skip(err)
	}
	runtime.LockOSThread() // and never unlocked: the thread dies with the test
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Skip("no namespace for the test: ", err)
	}
}

// TestOwnNamespaceIsLeftAsItWas: an end in the namespace of the process takes its device along when it goes.
func TestOwnNamespaceIsLeftAsItWas(t *testing.T) {
	apart(t)
	for range 2 { // the second finds no trace of the first
		top, err := Open(Options{Own: [2]bool{false, true}})
		must(t, err)
		if _, err := netlink.LinkByName(DeviceB); err != nil {
			t.Errorf("%s is not in this namespace: %v", DeviceB, err)
		}
		if _, err := netlink.LinkByName(DeviceA); err == nil {
			t.Errorf("%s is in this namespace", DeviceA)
		}
		must(t, top.Close())
		if _, err := netlink.LinkByName(DeviceB); err == nil {
			t.Errorf("%s was left behind", DeviceB)
		}
	}
}

// TestSomebodyElsesDeviceStays: a device that only has the name is not touched, and the topology is refused.
func TestSomebodyElsesDeviceStays(t *testing.T) {
	apart(t)
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.HardwareAddr = DeviceB, net.HardwareAddr{2, 9, 9, 9, 9, 9}
	veth := netlink.NewVeth(attrs)
	veth.PeerName = "peer"
	must(t, netlink.LinkAdd(veth))
	if top, err := Open(Options{Own: [2]bool{false, true}}); err == nil {
		_ = top.Close()
		t.Error("a topology was built over somebody else's device")
	}
	if _, err := netlink.LinkByName(DeviceB); err != nil {
		t.Errorf("the device is gone: %v", err)
	}
}

// TestDeviceOnAKernelWithout: without rdma_rxe the run says what is missing, and nothing is left.
func TestDeviceOnAKernelWithout(t *testing.T) {
	if _, err := os.Stat("/sys/module/rdma_rxe"); err == nil {
		t.Skip("this kernel has rdma_rxe")
	}
	apart(t)
	s, err := scenario.Parse(strings.NewReader("load write msg=1024 count=5\n"))
	must(t, err)
	tool, s, err := dut.Fit(s, trace.B)
	must(t, err)
	b := &Bench{Self: "/proc/self/exe", Device: &Device{Side: trace.B, Tool: tool}}
	_, err = b.Run(t.Context(), &bench.Job{Spec: s, Impls: [2]engine.Implementation{gbn.Implementation(), dut.Implementation()}})
	if err == nil || !strings.Contains(err.Error(), "soft-RoCE on b0") || !strings.Contains(err.Error(), "load rdma_rxe") || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v; want a line that says what the kernel lacks", err)
	}
	if _, err := netlink.LinkByName(DeviceB); err == nil {
		t.Errorf("%s was left behind", DeviceB)
	}
}

// TestPausedTool: a tool that polls burns nothing while it is paused, goes on after, and can be ended meanwhile. One that sleeps by
// itself is left alone.
func TestPausedTool(t *testing.T) {
	for text, polls := range map[string]bool{"load send msg=1024 count=5\n": true, "load write msg=1024 count=5\n": false} {
		s, err := scenario.Parse(strings.NewReader(text))
		must(t, err)
		tool, _, err := dut.Fit(s, trace.B)
		must(t, err)
		h := &foreign{Device: &Device{Side: trace.B, Tool: tool}, child: exec.Command("sh", "-c", "while :; do :; done"), exited: make(chan struct{})}
		must(t, h.child.Start())
		go func() {
			_ = h.child.Wait()
			close(h.exited)
		}()
		h.pause()
		if got := comesTo(h.child.Process.Pid, "T"); got != polls {
			t.Errorf("%s: paused %v, want %v", tool, got, polls)
		}
		h.resume()
		if !comesTo(h.child.Process.Pid, "R") {
			t.Errorf("%s does not go on", tool)
		}
		h.pause()
		h.kill()
	}
}

// comesTo reports whether a process comes to a state, as /proc names it, within the time that a machine with other work may take.
func comesTo(pid int, state string) bool {
	for range 50 {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if _, rest, ok := strings.Cut(string(raw), ") "); err == nil && ok && strings.HasPrefix(rest, state) {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

// TestEndpointOpposite: the process of an endpoint whose peer is a device needs no implementation of that.
func TestEndpointOpposite(t *testing.T) {
	only := func(name string) (engine.Implementation, bool) {
		return gbn.Implementation(), name == gbn.Implementation().Name
	}
	for text, want := range map[string]bool{"device B qpn=0x12 key=1 buffer=0\n": true, "": false} {
		p := &process{role: "endpoint"}
		s := contract.Order{Spec: "impl gbn " + dut.Name + "\n" + text + "load write msg=1024 count=5\n", Device: DeviceA, Report: filepath.Join(t.TempDir(), "events")}
		if err := p.build(&s, only, newEndpoint); (err == nil) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}
