package builds

import (
	"os/exec"
	"syscall"
)

// apart puts a command into a process group of its own. An interrupt at the terminal would otherwise reach it too, and
// interrupted a second time by Cancel it would end without writing its results. It is interrupted also when this
// process is killed.
func apart(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGINT}
}
