package netns

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// child is a process of the bench with its pipes. What it says on standard error is kept for the error message.
type child struct {
	name   string
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *os.File
	stderr *tail
	ended  chan struct{} // closed when the process has ended
	err    error         // why; read it after ended
}

// spawn starts "self process ROLE" in a namespace.
func (b *Bench) spawn(t *Topology, n *Namespace, role string) (*child, error) {
	return launch(t, n, role, exec.Command(b.Self, "process", role))
}

// launch starts a command in a namespace, in a process group of its own: an interrupt from the terminal is for the bench,
// which then ends its children in order.
func launch(t *Topology, n *Namespace, role string, cmd *exec.Cmd) (*child, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	c := &child{name: role, cmd: cmd, stderr: &tail{limit: 64 << 10}, ended: make(chan struct{})}
	var err error
	if c.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("netns: %s: %w", role, err)
	}
	// A pipe of our own rather than StdoutPipe: Wait must not close it under the reader.
	r, w, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("netns: %s: %w", role, err), c.stdin.Close())
	}
	c.stdout, cmd.Stdout, cmd.Stderr = r, w, c.stderr
	err = t.StartIn(n, cmd)
	_ = w.Close() // the child has its own
	if err != nil {
		return nil, errors.Join(err, c.stdin.Close(), r.Close())
	}
	go func() {
		c.err = cmd.Wait()
		close(c.ended)
	}()
	return c, nil
}

// patience is how long a process may take for what it is asked to do.
const patience = 30 * time.Second

// close ends the process by closing its standard input, and kills it when that does not help.
func (c *child) close() error {
	_ = c.stdin.Close() // it may have ended already
	defer c.stdout.Close()
	go func() { _, _ = io.Copy(io.Discard, c.stdout) }()
	select {
	case <-c.ended:
	case <-time.After(endTime):
		_ = c.kill()
		<-c.ended
		return fmt.Errorf("netns: %s did not end by itself and was killed", c.name)
	}
	if c.err != nil {
		return c.death("failed")
	}
	return nil
}

// kill ends the process and what it has started.
func (c *child) kill() error { return syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL) }

// death says how the process ended, after it has, in a sentence that begins with its name.
func (c *child) death(what string) error {
	select {
	case <-c.ended:
	case <-time.After(time.Second): // it closed its output and lives on
	}
	select {
	case <-c.ended:
		if c.err != nil {
			return fmt.Errorf("netns: %s %s: %w%s", c.name, what, c.err, c.stderr.last())
		}
	default:
	}
	return fmt.Errorf("netns: %s %s%s", c.name, what, c.stderr.last())
}

// tail keeps the end of what is written to it.
type tail struct {
	mu    sync.Mutex
	limit int
	buf   []byte
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - t.limit; over > 0 {
		t.buf = t.buf[over:]
	}
	return len(p), nil
}

// last returns the last line, or the one that says what a Go program died of, as the end of an error message.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.buf)), "\n")
	line := lines[len(lines)-1]
	for _, l := range lines {
		if strings.HasPrefix(l, "panic: ") || strings.HasPrefix(l, "fatal error: ") {
			line = l
			break
		}
	}
	if line = strings.TrimPrefix(line, "gauntlet: "); line != "" {
		return ": " + line
	}
	return ""
}
