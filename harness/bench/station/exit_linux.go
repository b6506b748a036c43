package station

import (
	"errors"
	"os/exec"
	"syscall"
)

// ExitOf makes an *Exit of how a command ended; other errors stay as they are.
func ExitOf(err error) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	e := &Exit{Code: exit.ExitCode()}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		e.Signal = status.Signal().String()
	}
	return e
}
