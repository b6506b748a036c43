package station

import (
	"fmt"
	"io"
	"net"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// Place is the host on which a tool under test runs, with its device: this machine, or a far host.
type Place interface {
	// Attach prepares the device for a run at a side; detach restores it.
	Attach(side trace.Side) (a *Attached, detach func() error, err error)

	// Start starts a stock program, whose output is written to said, which never fails. With idle the program runs only
	// while the processor is otherwise idle.
	Start(side trace.Side, program string, args []string, idle bool, said io.Writer) (Process, error)

	// Listen opens a port for one connection of a tool, which accept returns; stop closes the port.
	Listen() (port int, accept func(until time.Time) (net.Conn, error), stop func(), err error)

	// FreePort finds a port on which a tool can listen, and Dial connects to it.
	FreePort() (int, error)
	Dial(port int) (net.Conn, error)

	// Run returns the output of a short program.
	Run(program string, args ...string) (string, error)

	// Watch starts to record the completions of soft-RoCE; an error means that the kernel does not allow it.
	Watch() (Watched, error)

	// Err returns the reason why the place is lost; nil while it is not. No device is responsible for errors after
	// that.
	Err() error
}

// Attached is a device that is ready.
type Attached struct {
	Device string // name of the RDMA device
	GID    int    // index of the GID of the side's address
	What   string // for the report: "soft-RoCE"
	Kernel string // kernel that the device is part of, when it is not this machine's
	MTU    int    // MTU of its network device; 0 is that of the bench

	Identity [][2]string // see Device.Identity

	Counters func() (Counters, error) // reads the counters of the device and of its network device
}

// Process is a tool.
type Process interface {
	Wait() error                                  // returns when it has ended: *Exit where that was not with code 0
	Kill()                                        // ends it at once
	Pause()                                       // stops the tool, which may have ended
	Resume()                                      // continues it
	Glance(done, over <-chan struct{})            // lets it run at short intervals only, until either is closed
	Memory(address uint64, n int) ([]byte, error) // reads its memory
}

// Watched is the completions of a device.
type Watched interface {
	Of(qpn uint32) ([]int, error) // statuses, by the numbers of libibverbs, in order; nil when some were lost
	Close() error
}

// Exit is the exit status of a program, other than code 0.
type Exit struct {
	Code   int
	Signal string // signal that ended it; "" when none did
}

// Error implements error.
func (e *Exit) Error() string {
	if e.Signal != "" {
		return "signal: " + e.Signal
	}
	return fmt.Sprintf("exit status %d", e.Code)
}
