package netns

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/device"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/topology"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
)

// apart moves the test's thread into a namespace of its own, which stands for that of a machine.
func apart(t *testing.T) {
	t.Helper()
	if err := topology.Privileged(); err != nil {
		t.Skip(err)
	}
	runtime.LockOSThread() // and never unlocked: the thread dies with the test
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Skip("no namespace for the test: ", err)
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
	b := &Bench{Self: "/proc/self/exe", Device: &device.Device{Side: trace.B, Tool: tool}}
	_, err = b.Run(t.Context(), &bench.Job{Spec: s, Impls: [2]engine.Implementation{gbn.Implementation(), dut.Implementation()}})
	if err == nil || !strings.Contains(err.Error(), "soft-RoCE on b0") || !strings.Contains(err.Error(), "load rdma_rxe") || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v; want a line that says what the kernel lacks", err)
	}
	if _, err := netlink.LinkByName(topology.DeviceB); err == nil {
		t.Errorf("%s was left behind", topology.DeviceB)
	}
}
