package netns

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// child is a process of the bench with its pipes. What it says on standard error is kept for the error message.
type child struct {
	name   string
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout io.Reader
	stderr *tail
	ended  chan error
}

// spawn starts "self process ROLE" in a namespace.
func (b *Bench) spawn(t *Topology, n *Namespace, role string, args ...string) (*child, error) {
	cmd := exec.Command(b.Self, append([]string{"process", role}, args...)...)
	c := &child{name: role, cmd: cmd, stderr: &tail{limit: 4096}, ended: make(chan error, 1)}
	var err error
	if c.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("netns: %s: %w", role, err)
	}
	// A pipe of our own rather than StdoutPipe: Wait must not close it under the reader.
	r, w := io.Pipe()
	c.stdout, cmd.Stdout, cmd.Stderr = r, w, c.stderr
	if err := t.StartIn(n, cmd); err != nil {
		return nil, err
	}
	go func() {
		err := cmd.Wait()
		c.ended <- err
		_ = w.CloseWithError(io.EOF)
	}()
	return c, nil
}

// close ends the process by closing its standard input, and kills it when that does not help.
func (c *child) close() error {
	_ = c.stdin.Close() // it may have ended already
	go func() { _, _ = io.Copy(io.Discard, c.stdout) }()
	select {
	case err := <-c.ended:
		return c.explain(err)
	case <-time.After(2 * time.Second):
		_ = c.cmd.Process.Kill()
		<-c.ended
		return fmt.Errorf("netns: %s did not end by itself and was killed", c.name)
	}
}

func (c *child) explain(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("netns: %s: %w%s", c.name, err, c.stderr.last())
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

// last returns the last line, as the end of an error message.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(string(bytes.TrimSpace(t.buf)), "\n")
	if line := lines[len(lines)-1]; line != "" {
		return ": " + line
	}
	return ""
}

// endpoint is an endpoint process under the bench's control.
type endpoint struct {
	*child
	side    trace.Side
	orders  *json.Encoder
	answers chan answer
	share   float64
	idle    bool
	end     answer // what it said when it stopped
}

// startEndpoint starts one side and waits until it is ready.
func (b *Bench) startEndpoint(t *Topology, n *Namespace, s setup) (*endpoint, error) {
	c, err := b.spawn(t, n, "endpoint")
	if err != nil {
		return nil, err
	}
	e := &endpoint{child: c, side: trace.Side(s.Side), orders: json.NewEncoder(c.stdin), answers: make(chan answer, 16)}
	e.name = "endpoint " + e.side.String()
	go e.listen()
	if err := e.orders.Encode(s); err != nil {
		return nil, errors.Join(fmt.Errorf("netns: %s: %w", e.name, err), e.close())
	}
	if _, err := e.await(saysReady, 10*time.Second); err != nil {
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

// listen reads answers until the process ends.
func (e *endpoint) listen() {
	defer close(e.answers)
	lines := bufio.NewReaderSize(e.stdout, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var a answer
		if json.Unmarshal(line, &a) != nil {
			a = answer{Event: saysError, Error: fmt.Sprintf("unreadable answer %.60q", line)}
		}
		e.answers <- a
	}
}

// note takes an answer that may come at any time; ok is false for one that was asked for.
func (e *endpoint) note(a answer) (asked bool, err error) {
	switch a.Event {
	case saysShare:
		e.share = a.Share
	case saysIdle:
		e.idle, e.share = true, 1
	case saysError:
		return false, fmt.Errorf("netns: %s: %s", e.name, a.Error)
	default:
		return true, nil
	}
	return false, nil
}

// await returns the wanted answer, taking notes of others.
func (e *endpoint) await(want string, limit time.Duration) (answer, error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		select {
		case a, ok := <-e.answers:
			if !ok {
				return answer{}, fmt.Errorf("netns: %s ended before it was %s%s", e.name, want, e.stderr.last())
			}
			asked, err := e.note(a)
			if err != nil || asked && a.Event == want {
				return a, err
			}
		case <-timer.C:
			return answer{}, fmt.Errorf("netns: %s was not %s within %s", e.name, want, limit)
		}
	}
}

// order sends an order and waits for its answer.
func (e *endpoint) order(o order, want string) (answer, error) {
	if err := e.orders.Encode(o); err != nil {
		return answer{}, fmt.Errorf("netns: %s: %w%s", e.name, err, e.stderr.last())
	}
	return e.await(want, 30*time.Second)
}
