package topology

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// ReceiveOn makes the kernel process the frames that a device of the calling thread's namespace receives on one
// processor (receive packet steering), and so in the order in which they were sent to it. By default a frame of a veth
// pair is processed where it was sent: two processors that send at once, as a qdisc does, would pass it to the sockets
// of the device in another order.
//
// The kernel lets only the machine's root do this.
func ReceiveOn(device string, processor int) error {
	return inSysfs(func() error {
		return os.WriteFile(steering(device), []byte(processorMask(processor)), 0)
	})
}

// steering is the file with the processors that process what a device receives.
func steering(device string) string { return "/sys/class/net/" + device + "/queues/rx-0/rps_cpus" }

// inSysfs runs f where /sys shows the devices of the calling thread's network namespace, as only a sysfs that was
// mounted in it does.
func inSysfs(f func() error) error {
	home, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		return err
	}
	defer home.Close()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // a thread of its own, which ends with the goroutine, and its mounts with it
		err := mountSysfs(home)
		if err == nil {
			err = f()
		}
		done <- err
	}()
	return <-done
}

// mountSysfs moves the calling thread into a network namespace and a mount namespace with its sysfs.
func mountSysfs(home *os.File) error {
	if err := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("network namespace: %w", err)
	}
	if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("mount namespace: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	if err := unix.Mount("sysfs", "/sys", "sysfs", 0, ""); err != nil {
		return fmt.Errorf("mount sysfs: %w", err)
	}
	return nil
}

// processorMask returns a set of one processor in the form of sysfs: words of 32 bits in hexadecimal, the highest
// first.
func processorMask(n int) string {
	return fmt.Sprintf("%x", 1<<(n%32)) + strings.Repeat(",00000000", n/32)
}

// steer makes every device of the network process what it receives on one processor; the two ends of a cable on
// different ones, if there are two. Where the kernel does not let it, the certificate shows the effects.
func (t *Topology) steer() error {
	allowed, err := packetio.Allowed()
	if err != nil {
		return err
	}
	for i, c := range t.cables {
		in, out := allowed[i%len(allowed)], allowed[(i+1)%len(allowed)]
		_ = c.In.Do(func() error { return ReceiveOn(c.Host.Device, in) })
		_ = t.M.Do(func() error { return ReceiveOn(c.Port, out) })
	}
	return nil
}
