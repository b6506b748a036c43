package topology

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// spawner starts children from one thread that lives as long as the Topology. The kernel sends a child its parent-death
// signal when the thread that started it ends, not the process; Go's other threads come and go.
type spawner struct {
	starts chan start
	done   chan struct{}
}

type start struct {
	in     *Namespace
	cmd    *exec.Cmd
	result chan error
}

func newSpawner() (*spawner, error) {
	s := &spawner{starts: make(chan start), done: make(chan struct{})}
	ready := make(chan error)
	go s.run(ready)
	return s, <-ready
}

// run serves start requests on a separate thread. The thread is never unlocked: it has changed namespaces and is to die
// with the goroutine. The main thread cannot die, so it is left by holding it until another one has taken over.
func (s *spawner) run(ready chan<- error) {
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() {
		moved := make(chan error)
		go s.run(moved)
		ready <- <-moved
		runtime.UnlockOSThread()
		return
	}
	defer close(s.done)
	ready <- nil
	for r := range s.starts {
		r.result <- r.start()
	}
}

func (r start) start() error {
	if err := unix.Setns(r.in.Fd(), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("netns: enter namespace %s: %w", r.in.Label, err)
	}
	if r.cmd.SysProcAttr == nil {
		r.cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	r.cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	if err := r.cmd.Start(); err != nil {
		return fmt.Errorf("netns: start %s in namespace %s: %w", r.cmd.Path, r.in.Label, err)
	}
	return nil
}

func (s *spawner) close() {
	close(s.starts)
	<-s.done
}

// StartIn starts a command in a namespace of the Topology; the caller waits for it. The child is killed when this
// process dies in any way, and by Close. A child of this project should also exit at the end of its standard input,
// which covers the time between its start and the kernel's note of the death signal.
func (t *Topology) StartIn(n *Namespace, cmd *exec.Cmd) error {
	if t.closed {
		return errors.New("netns: start in a closed topology; open another one")
	}
	r := start{in: n, cmd: cmd, result: make(chan error, 1)}
	t.spawner.starts <- r
	return <-r.result
}
