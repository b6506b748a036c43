package child

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/topology"
	"github.com/rdma-gauntlet/gauntlet/harness/contract"
)

// Child is a program under the bench's control. Its standard error is kept for the error message.
type Child struct {
	*contract.Program
	Name   string // in errors
	ended  chan struct{}
	err    error // error with which it ended; read it after ended is closed
	closed bool
}

// Launch starts a command in a namespace. Name is its name in errors.
func Launch(t *topology.Topology, n *topology.Namespace, name string, cmd *exec.Cmd) (*Child, error) {
	p, err := piped(name, cmd, func() error { return t.StartIn(n, cmd) })
	if err != nil {
		return nil, err
	}
	return Adopt(name, p), nil
}

// Adopt takes control of a program that has been started.
func Adopt(name string, p *contract.Program) *Child {
	c := &Child{Program: p, Name: name, ended: make(chan struct{})}
	go func() {
		c.err = p.Wait()
		close(c.ended)
	}()
	return c
}

// Patience is the time limit for a process to obey an order.
const Patience = 30 * time.Second

// Within calls ask, which waits for an answer of the program, and kills a program that does not answer in time. The
// error then says so in place of that of ask.
func (c *Child) Within(patience time.Duration, ask func() error) error {
	timer := time.AfterFunc(patience, func() { _ = c.Kill() })
	err := ask()
	if !timer.Stop() && err != nil {
		return fmt.Errorf("netns: %s did not answer within %s and was killed", c.Name, patience)
	}
	return err
}

// Ended is closed when the program has ended.
func (c *Child) Ended() <-chan struct{} { return c.ended }

// Close ends the program by closing its standard input, and kills it when that does not help. A second call does
// nothing.
func (c *Child) Close() error {
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
			_ = c.Kill()
		}
		<-c.ended
		if stuck {
			return fmt.Errorf("netns: %s did not end by itself and was killed", c.Name)
		}
	}
	if c.err != nil {
		return c.Death("failed")
	}
	return nil
}

// Kill ends the program and all processes that it has started.
func (c *Child) Kill() error { return c.Signal(os.Kill) }

// Death returns, after the program has ended, an error with its exit status, in a sentence that begins with its name.
func (c *Child) Death(what string) error {
	select {
	case <-c.ended:
	case <-time.After(5 * time.Second): // it has closed its output but runs on; a busy machine ends it late
	}
	select {
	case <-c.ended:
		if c.err != nil {
			return fmt.Errorf("netns: %s %s: %w%s", c.Name, what, c.err, c.Log.Last())
		}
		return fmt.Errorf("netns: %s %s%s", c.Name, what, c.Log.Last())
	default:
		return fmt.Errorf("netns: %s closed its standard output and ran on%s", c.Name, c.Log.Last())
	}
}
