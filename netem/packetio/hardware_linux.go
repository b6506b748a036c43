package packetio

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// hardwareStamps asks the kernel to pass on the stamps that a device's hardware has given to received frames.
func hardwareStamps(fd int) error {
	return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPING,
		unix.SOF_TIMESTAMPING_RX_HARDWARE|unix.SOF_TIMESTAMPING_RAW_HARDWARE)
}

// hardware finds the SCM_TIMESTAMPING message, and returns the third of its stamps, the raw one of the hardware, in
// nanoseconds of the device's clock; 0 when there is none.
func hardware(control []byte) int64 {
	data, ok := find(control, unix.SOL_SOCKET, unix.SCM_TIMESTAMPING)
	if !ok || len(data) < int(unsafe.Sizeof([3]unix.Timespec{})) {
		return 0
	}
	return (*[3]unix.Timespec)(unsafe.Pointer(&data[0]))[2].Nano()
}

// HardwareClock is the PTP clock of a network device (/dev/ptpN), whose hardware stamps frames by it.
type HardwareClock struct{ file *os.File }

// OpenHardwareClock opens the PTP clock with an index. The caller closes it.
func OpenHardwareClock(index int) (*HardwareClock, error) {
	f, err := os.Open(fmt.Sprintf("/dev/ptp%d", index))
	if err != nil {
		return nil, fmt.Errorf("packetio: clock of the hardware: %w", err)
	}
	return &HardwareClock{f}, nil
}

// Close closes the clock.
func (c *HardwareClock) Close() error { return c.file.Close() }

// Paired is a reading of a hardware clock together with the wall clock, in nanoseconds.
type Paired struct {
	Ahead int64 // of the hardware clock: its time minus the wall clock's
	Error int64 // by which Ahead may be wrong: half of the time that the reading took
}

// pairings is the number of readings in Pair, of which the shortest counts.
const pairings = 10

// Pair reads the clock together with the wall clock.
func (c *HardwareClock) Pair() (Paired, error) {
	o, err := unix.IoctlPtpSysOffsetExtended(int(c.file.Fd()), pairings)
	if err != nil {
		return Paired{}, fmt.Errorf("packetio: %s beside the wall clock: %w", c.file.Name(), err)
	}
	return shortest(o.Ts[:min(int(o.Samples), len(o.Ts))])
}

// shortest returns the pair of the shortest of some readings: the wall clock before, the hardware's, the wall clock
// after.
func shortest(readings [][3]unix.PtpClockTime) (best Paired, err error) {
	nano := func(t unix.PtpClockTime) int64 { return t.Sec*1e9 + int64(t.Nsec) }
	for i, r := range readings {
		before, at, after := nano(r[0]), nano(r[1]), nano(r[2])
		half := (after - before + 1) / 2
		if i == 0 || half < best.Error {
			best = Paired{at - (before + (after-before)/2), half}
		}
	}
	if len(readings) == 0 || best.Error < 0 {
		return Paired{}, fmt.Errorf("packetio: clock of the hardware: no reading beside the wall clock")
	}
	return best, nil
}

// Wall returns the wall-clock time of a stamp of the hardware, in nanoseconds.
func (p Paired) Wall(stamp int64) int64 { return stamp - p.Ahead }
