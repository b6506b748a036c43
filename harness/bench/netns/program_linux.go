package netns

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rdma-gauntlet/gauntlet/harness/contract"
)

// program returns how a program from elsewhere is started: with processes of its own. What it starts, and leaves behind,
// ends with it.
func program(path string) *exec.Cmd {
	cmd := exec.Command(path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID, Setpgid: true}
	cmd.WaitDelay = time.Second // for its pipes, when something else holds them
	return cmd
}

// Ask hears what a program can do, without a network; see contract.Ask. What it logged last is in the error.
func Ask(path string) (*contract.Capabilities, error) {
	if err := Privileged(); err != nil {
		return nil, err
	}
	log := &tail{limit: 64 << 10}
	cmd := program(path)
	cmd.Stderr = log
	caps, err := contract.Ask(cmd)
	if err != nil {
		err = fmt.Errorf("%w%s", err, log.last())
	}
	return caps, err
}

// EndsWith starts a program, hears that it is there, and does what is to end it: closes its standard input, or signals it.
// The error says how it ended instead, or that it did not.
func EndsWith(path string, how func(stdin io.Closer, p *os.Process) error) error {
	cmd := program(path)
	in, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("netns: %s: %w", path, err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("netns: %s: %w", path, err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("netns: %s: %w", path, err)
	}
	if _, err = contract.NewDialog(out).Next(); err == nil {
		err = how(in, cmd.Process)
	}
	timer := time.AfterFunc(endTime, func() { _ = cmd.Process.Kill() })
	ended := cmd.Wait()
	switch {
	case err != nil:
		return err
	case !timer.Stop():
		return fmt.Errorf("it went on for %s and was killed; want it to end", endTime)
	case ended != nil:
		return fmt.Errorf("it ended with %w; want exit code 0", ended)
	}
	return nil
}

// endTime is how long a program may take to end.
const endTime = 2 * time.Second
