//go:build unix && !linux

package builds

import (
	"os/exec"
	"syscall"
)

// apart puts a command into a process group of its own, as on Linux.
func apart(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
