package process

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// together puts an endpoint and the TCP below it on one processor, the n-th that it may use. The kernel otherwise works
// where a frame came from, which is the processor of the link: it would make the link late, and two processors that
// send at once pass the tap in one order and the link in another. Where says for the report whether the kernel could be
// told; the certificate shows what comes of it when not. It is for the loop's thread, which packetio.LockThread has
// locked.
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

// receiveOn lets the kernel handle what a device receives on one processor (receive packet steering). The file that
// says so shows in a sysfs that was mounted in the device's namespace only.
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

// processorMask writes a set of one processor as sysfs does: words of 32 bits in hexadecimal, the highest first.
func processorMask(n int) string {
	return fmt.Sprintf("%x", 1<<(n%32)) + strings.Repeat(",00000000", n/32)
}
