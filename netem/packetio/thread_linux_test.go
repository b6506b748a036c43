package packetio

import (
	"errors"
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

// One thread alone has the priority: neither the others of its process, nor those that it starts.
func TestRealtimeThread(t *testing.T) {
	type found struct {
		err      error
		realtime int    // threads of this process with the policy
		child    uint32 // policy of a child
	}
	done := make(chan found)
	go func() { // its thread ends with it
		var f found
		if f.err = errors.Join(LockThread(), RealtimeThread(OfTap)); f.err == nil {
			f.realtime, f.child, f.err = policies()
		}
		done <- f
	}()
	f := <-done
	if f.err != nil {
		t.Skipf("no privilege for real-time priorities: %v", f.err)
	}
	if f.realtime != 1 || f.child == unix.SCHED_FIFO {
		t.Errorf("%d threads with a real-time priority, and a child with policy %d", f.realtime, f.child)
	}
	if OfTap >= OfLink {
		t.Errorf("a tap has rank %d, and the link %d", OfTap, OfLink)
	}
}

// policies counts the threads of this process with a real-time priority, and returns the policy of a new child.
func policies() (realtime int, child uint32, err error) {
	list, err := threads("self")
	if err != nil {
		return 0, 0, err
	}
	for _, id := range list {
		if a, err := unix.SchedGetAttr(id, 0); err == nil && a.Policy == unix.SCHED_FIFO {
			realtime++
		}
	}
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	a, err := unix.SchedGetAttr(cmd.Process.Pid, 0)
	if err == nil {
		child = a.Policy
	}
	_, _ = cmd.Process.Kill(), cmd.Wait()
	return realtime, child, err
}
