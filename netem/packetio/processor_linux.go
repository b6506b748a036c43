package packetio

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Reserved is a processor that the threads of this process, and the processes that it starts, do not use.
//
// A real-time priority is not enough for a loop with deadlines: a kernel that is not preemptible (PREEMPT_NONE, as on
// cloud machines) first finishes the system call of an ordinary thread, which can be milliseconds of copying into a
// file.
type Reserved struct {
	Processor int // number of the processor
	before    unix.CPUSet
}

// Reserve reserves one of the processors that this process may use; nil when there is only one. Close releases it.
func Reserve() (*Reserved, error) {
	var r Reserved
	if err := unix.SchedGetaffinity(0, &r.before); err != nil {
		return nil, fmt.Errorf("packetio: ask for the processors of this process: %w", err)
	}
	allowed := processors(&r.before)
	if len(allowed) < 2 {
		return nil, nil
	}
	// Not the first, which serves most interrupts, and a different one for each process, because several may run side
	// by side.
	r.Processor = allowed[1+os.Getpid()%(len(allowed)-1)]
	rest := r.before
	rest.Clear(r.Processor)
	return &r, confine("self", &rest)
}

// Close lets the threads of this process use the processor again.
func (r *Reserved) Close() error { return confine("self", &r.before) }

// Allowed lists the processors that the calling thread may use.
func Allowed() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("packetio: ask for the processors of a thread: %w", err)
	}
	return processors(&set), nil
}

// Pin binds the calling thread, which LockThread has locked, to a processor.
func Pin(processor int) error {
	var set unix.CPUSet
	set.Set(processor)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("packetio: pin a thread to processor %d: %w", processor, err)
	}
	return nil
}

// processors lists the processors of a set.
func processors(set *unix.CPUSet) []int {
	var list []int
	for n := range len(set) * strconv.IntSize {
		if set.IsSet(n) {
			list = append(list, n)
		}
	}
	return list
}

// Share restricts another process to the processors that the calling thread may use. A process that this one starts is
// restricted to them anyway.
func Share(pid int) error {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return fmt.Errorf("packetio: ask for the processors of a thread: %w", err)
	}
	return confine(strconv.Itoa(pid), &set)
}

// confine moves every thread of a process to a set of processors. A new thread has the set of its creator, so a second
// pass finds the threads that were created meanwhile by one that had not been moved.
func confine(process string, set *unix.CPUSet) error {
	for range 2 {
		threads, err := threads(process)
		if err != nil {
			return err
		}
		for _, id := range threads {
			if err := unix.SchedSetaffinity(id, set); err != nil && err != unix.ESRCH { // it may have ended
				return fmt.Errorf("packetio: move thread %d to other processors: %w", id, err)
			}
		}
	}
	return nil
}

// threads lists the threads of a process, given by its number or "self".
func threads(process string) ([]int, error) {
	entries, err := os.ReadDir("/proc/" + process + "/task")
	if err != nil {
		return nil, fmt.Errorf("packetio: list the threads of process %s: %w", process, err)
	}
	var ids []int
	for _, e := range entries {
		if id, err := strconv.Atoi(e.Name()); err == nil {
			ids = append(ids, id)
		}
	}
	return ids, nil
}
