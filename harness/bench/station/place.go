package station

import (
	"fmt"
	"io"
	"net"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// Place is where a tool under test runs, with its device: this machine, or a far host.
type Place interface {
	// Attach readies the device for a run at a side. Detach undoes it.
	Attach(side trace.Side) (a *Attached, detach func() error, err error)

	// Start starts a stock program there. What it writes goes to said, which never fails. Idle lets everything else go
	// before it.
	Start(side trace.Side, program string, args []string, idle bool, said io.Writer) (Process, error)

	// Listen waits there for one connection of a tool, which accept returns; stop ends the waiting.
	Listen() (port int, accept func(until time.Time) (net.Conn, error), stop func(), err error)

	// FreePort finds a port for a tool that will listen there, and Dial connects to it.
	FreePort() (int, error)
	Dial(port int) (net.Conn, error)

	// Run returns what a short program prints.
	Run(program string, args ...string) (string, error)

	// Watch begins to watch the completions of soft-RoCE; an error says that the kernel there does not let it.
	Watch() (Watched, error)

	// Err is why the place is lost; nil while it is not. No device is to blame for what follows.
	Err() error
}

// Attached is a device that is ready.
type Attached struct {
	Device string // name of the RDMA device
	GID    int    // index of the GID of the side's address
	What   string // for the report: "soft-RoCE"
	Kernel string // that the device is a part of, where it is not this machine's
	MTU    int    // of its network device; 0 is that of the bench

	Identity [][2]string // see Device.Identity

	Counters func() (Counters, error) // reads what the device and its network device count
}

// Process is a tool.
type Process interface {
	Wait() error                                  // returns when it has ended: *Exit where that was not with code 0
	Kill()                                        // ends it at once
	Pause()                                       // stops it; it may have ended
	Resume()                                      // lets it go on
	Glance(done, over <-chan struct{})            // lets it look now and then, until either is closed
	Memory(address uint64, n int) ([]byte, error) // reads its memory
}

// Watched is the completions of a device.
type Watched interface {
	Of(qpn uint32) ([]int, error) // statuses, by the numbers of libibverbs, in order; nil when some were lost
	Close() error
}

// Exit is how a program ended that did not end with code 0.
type Exit struct {
	Code   int
	Signal string // "" where it was none
}

// Error implements error.
func (e *Exit) Error() string {
	if e.Signal != "" {
		return "signal: " + e.Signal
	}
	return fmt.Sprintf("exit status %d", e.Code)
}
