package child

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/topology"
	"github.com/rdma-gauntlet/gauntlet/harness/contract"
)

// Body returns the command of a process of the bench: self, this program's binary, with the hidden command "process". A
// library that the binary links for containers reads the entries of all processes of the machine at its start, a third
// of the time of a start; it is shown none.
func Body(self string, args ...string) *exec.Cmd {
	cmd := exec.Command(self, append([]string{"process"}, args...)...)
	cmd.Env = append(os.Environ(), "HOST_PROC=/nowhere")
	return cmd
}

// Command returns the command of a foreign program, in a separate PID namespace: all processes that it starts end with
// it.
func Command(path string) *exec.Cmd {
	cmd := exec.Command(path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID}
	cmd.WaitDelay = time.Second // for its pipes, when something else holds them
	return cmd
}

// Start starts a foreign program to read its capabilities, in a separate network namespace with no device but lo.
func Start(path string) (*contract.Program, error) {
	if err := topology.Privileged(); err != nil {
		return nil, err
	}
	cmd := Command(path)
	cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWNET
	return piped(path, cmd, func() error {
		if err := cmd.Start(); err != nil {
			return fmt.Errorf("netns: %s cannot be started: %s", path, notStarted(path, err))
		}
		return nil
	})
}

// notStarted states why the kernel did not start a program, and the remedy.
func notStarted(path string, err error) string {
	info, statErr := os.Stat(path)
	switch {
	case statErr != nil:
		return "no such file"
	case info.IsDir():
		return "it is a folder; want a program in it"
	case errors.Is(err, unix.EACCES):
		return "it may not be executed; chmod +x it"
	case errors.Is(err, unix.ENOEXEC):
		return "it is no program of this machine; want one, or a script that begins with #!"
	case errors.Is(err, unix.ENOENT):
		return "a file that it needs is missing: the interpreter in its first line, or the loader of its libraries"
	}
	return err.Error()
}

// piped starts a command with pipes, in a session of its own: an interrupt from the terminal reaches the bench only,
// which then ends its children in order, and a kernel that schedules by session can prefer this one. how starts the
// command.
func piped(name string, cmd *exec.Cmd, how func() error) (*contract.Program, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid = true
	p := &contract.Program{Name: name, Log: &contract.Log{}, Wait: cmd.Wait}
	var err error
	if p.Stdin, err = cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("netns: %s: %w", name, err)
	}
	// A pipe of our own rather than StdoutPipe: Wait must not close it under the reader.
	r, w, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("netns: %s: %w", name, err), p.Stdin.Close())
	}
	p.Stdout, cmd.Stdout, cmd.Stderr = r, w, p.Log
	err = how()
	_ = w.Close() // the child has its own
	if err != nil {
		_, _ = p.Stdin.Close(), r.Close() // the first error says more
		return nil, err
	}
	p.PID = cmd.Process.Pid
	p.Signal = func(s os.Signal) error {
		if s == os.Kill {
			return syscall.Kill(-p.PID, syscall.SIGKILL)
		}
		return cmd.Process.Signal(s)
	}
	return p, nil
}
