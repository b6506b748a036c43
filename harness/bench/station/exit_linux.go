package station

import (
	"errors"
	"os/exec"
	"syscall"
)

// ExitOf converts the exit status of a command to *Exit; other errors are returned unchanged.
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
