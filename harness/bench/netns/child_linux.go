package netns

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/contract"
)

// child is a program under the bench's control. What it says on standard error is kept for the error message.
type child struct {
	*contract.Program
	name   string
	ended  chan struct{} // closed when the program has ended
	err    error         // why; read it after ended
	closed bool
}

// spawn starts "self process ROLE" in a namespace.
func (b *Bench) spawn(t *Topology, n *Namespace, role string) (*child, error) {
	return launch(t, n, role, exec.Command(b.Self, "process", role))
}

// launch starts a command in a namespace.
func launch(t *Topology, n *Namespace, role string, cmd *exec.Cmd) (*child, error) {
	p, err := piped(role, cmd, func() error { return t.StartIn(n, cmd) })
	if err != nil {
		return nil, err
	}
	return adopt(role, p), nil
}

// adopt takes care of a program that has been started.
func adopt(name string, p *contract.Program) *child {
	c := &child{Program: p, name: name, ended: make(chan struct{})}
	go func() {
		c.err = p.Wait()
		close(c.ended)
	}()
	return c
}

// patience is how long a process may take for what it is asked to do.
const patience = 30 * time.Second

// close ends the program by closing its standard input, and kills it when that does not help. A second call does nothing.
func (c *child) close() error {
	if c.closed {
		return nil
	}
	c.closed = true
	_ = c.Stdin.Close() // it may have ended already
	defer c.Stdout.Close()
	go func() { _, _ = io.Copy(io.Discard, c.Stdout) }()
	select {
	case <-c.ended:
	case <-time.After(contract.EndTime):
		stuck := c.Lives()
		if stuck {
			_ = c.kill()
		}
		<-c.ended
		if stuck {
			return fmt.Errorf("netns: %s did not end by itself and was killed", c.name)
		}
	}
	if c.err != nil {
		return c.death("failed")
	}
	return nil
}

// kill ends the program and what it has started.
func (c *child) kill() error { return c.Signal(os.Kill) }

// death says how the program ended, after it has, in a sentence that begins with its name.
func (c *child) death(what string) error {
	select {
	case <-c.ended:
	case <-time.After(time.Second): // it closed its output and lives on
	}
	select {
	case <-c.ended:
		if c.err != nil {
			return fmt.Errorf("netns: %s %s: %w%s", c.name, what, c.err, c.Log.Last())
		}
	default:
	}
	return fmt.Errorf("netns: %s %s%s", c.name, what, c.Log.Last())
}
