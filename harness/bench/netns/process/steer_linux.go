package process

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// together puts an endpoint and the TCP below it on one processor, the n-th that it may use. By default the kernel
// processes a frame on the processor where it was sent, which is that of the link: the link would be late, and two
// processors that send at once would pass the tap in one order and the link in another. where reports whether the
// kernel accepted the setting; if it did not, the certificate shows the effects. together must be called by the loop's
// thread, which packetio.LockThread has locked.
func together(device string, n int) (where string, err error) {
	allowed, err := packetio.Allowed()
	if err != nil {
		return "", err
	}
	processor := allowed[n%len(allowed)]
	if err := packetio.Pin(processor); err != nil {
		return "", err
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // a thread of its own, which ends with the goroutine, and its mounts with it
		done <- receiveOn(device, processor)
	}()
	if err := <-done; err != nil {
		return fmt.Sprintf("on any processor (%v)", err), nil
	}
	return fmt.Sprintf("on processor %d", processor), nil
}

// receiveOn makes the kernel process the frames that a device receives on one processor (receive packet steering). The
// file of this setting is visible only in a sysfs that was mounted in the device's namespace.
func receiveOn(device string, processor int) error {
	if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("mount namespace: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	if err := unix.Mount("sysfs", "/sys", "sysfs", 0, ""); err != nil {
		return fmt.Errorf("mount sysfs: %w", err)
	}
	return os.WriteFile("/sys/class/net/"+device+"/queues/rx-0/rps_cpus", []byte(processorMask(processor)), 0)
}

// processorMask returns a set of one processor in the form of sysfs: words of 32 bits in hexadecimal, the highest
// first.
func processorMask(n int) string {
	return fmt.Sprintf("%x", 1<<(n%32)) + strings.Repeat(",00000000", n/32)
}
