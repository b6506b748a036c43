package lab

import (
	"cmp"
	"fmt"
	"io"
	"time"
)

// Guest describes a guest: its kernel, its files, and the command to run.
type Guest struct {
	Kernel  *Kernel
	Modules []string  // names of modules in addition to those of every guest
	With    []string  // programs, files and folders of the host; programs bring their libraries
	Command []string  // the file of its program need not be in With
	Dir     string    // absolute; where the command runs
	Env     []string  // name=value
	Outputs []string  // files and folders that are copied back, absolute paths
	Stdout  io.Writer // output of the command, written as it arrives
	Stderr  io.Writer
	Console string // keep the guest's console in this file; "" keeps it only for messages

	Deterministic bool   // guest time counts instructions, so that the same guest does the same
	Seed          uint64 // of everything random in a deterministic guest
	Shell         bool   // the command talks to this terminal
	Memory        int    // MiB; 0 is DefaultMemory
	// time after which the guest is ended: guest time if that counts instructions, else time of this machine; 0 is
	// DefaultLimit
	Limit time.Duration
}

// slowest is the maximum processor time of an instruction, in nanoseconds; in the guest it takes one nanosecond. Ten
// are usual.
const slowest = 50

// limit returns the effective Limit.
func (g *Guest) limit() time.Duration { return cmp.Or(g.Limit, DefaultLimit) }

// Defaults of a Guest. Half of the memory is for its files, of which a matrix leaves a gigabyte. Memory that the guest
// does not touch costs the machine nothing.
const (
	DefaultMemory = 4096
	DefaultLimit  = 30 * time.Minute
)

// Outcome is the result of a guest that ended with a report.
type Outcome struct {
	Code         int           // exit code of the command
	Guest        time.Duration // time since the start of its kernel, by its clock
	Wall         time.Duration // the same by the clock of this machine
	Instructions uint64        // executed by the guest, to the 10 ms of its idle counter; 0 when they were not counted
	Accelerator  string
	Full         bool // no memory was left for files
}

// String reports the times and instructions that the guest took.
func (o *Outcome) String() string {
	s := fmt.Sprintf("%.1f guest seconds in %.1f s (%s)", o.Guest.Seconds(), o.Wall.Seconds(), o.Accelerator)
	if o.Instructions > 0 {
		s += fmt.Sprintf(", %.2g instructions", float64(o.Instructions))
	}
	if o.Full {
		s += "; its files filled half of its memory: --guest-memory gives it more"
	}
	return s
}
