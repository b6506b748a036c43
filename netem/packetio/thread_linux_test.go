package packetio

import (
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// All threads of a promoted process have the priority, and those of this process keep theirs.
func TestPromote(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	before, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := Promote(cmd.Process.Pid, OfPeer); err != nil {
		t.Skipf("no privilege for real-time priorities: %v", err)
	}
	own, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	got, err := unix.SchedGetAttr(cmd.Process.Pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got.Policy != unix.SCHED_FIFO || got.Priority != uint32(OfPeer) || own.Policy != before.Policy {
		t.Errorf("policy %d and priority %d, and of this process policy %d", got.Policy, got.Priority, own.Policy)
	}
	if OfPeer <= OfEnd || OfPeer >= OfLink {
		t.Errorf("the peer of a device has rank %d, an endpoint %d and the link %d", OfPeer, OfEnd, OfLink)
	}
}
