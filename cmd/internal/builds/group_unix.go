//go:build unix

package builds

import (
	"os/exec"
	"syscall"
)

// apart puts a command into a process group of its own: an interrupt at a terminal reaches the whole group, and a
// command that is interrupted twice, by the terminal and by Cancel, would end without writing what it has.
func apart(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
