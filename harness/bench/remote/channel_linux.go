package remote

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/remote/line"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/station"
	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/harness/testbed"
)

// Options say how to reach a host.
type Options struct {
	Host   testbed.Host
	Config string // configuration file for ssh -F; "" is the user's
	Self   string // file of this program
	Keep   bool   // leave the binary there, named by its hash, for the next time
	SSH    string // the ssh program; "" is ssh
}

// Time limits: for the first answer of the host, for copying the binary, for one order, and for the end of ssh; and the
// time for its last output.
var (
	answerTime = 40 * time.Second
	copyTime   = 5 * time.Minute
	orderTime  = 40 * time.Second
	endTime    = 5 * time.Second
	rest       = 200 * time.Millisecond
)

// Host is a far host on which a supervisor runs.
type Host struct {
	At testbed.Host
	*channel
	known *station.Description // the first one; nil before
}

// channel carries orders to a supervisor, and its replies.
type channel struct {
	PID  int    // process ID of the supervisor, on the host
	name string // name of the host

	command *exec.Cmd
	log     *contract.Log // standard error of ssh and of the supervisor
	stdin   io.WriteCloser
	out     *line.Writer
	gone    chan struct{} // closed when ssh has ended
	ended   error         // result of ssh; valid once gone is closed

	mu      sync.Mutex
	next    uint64
	waiting map[uint64]chan *line.Reply
	things  map[uint64]*thing
	broken  error         // reason why the channel has ended; nil while it lasts
	over    chan struct{} // closed when the channel has ended
	closing bool
}

// Connect logs in to a host and starts its supervisor. The caller closes the Host.
func Connect(ctx context.Context, o Options) (*Host, error) {
	b, err := readSelf(o.Self)
	if err != nil {
		return nil, err
	}
	mark := make([]byte, 12)
	_, _ = rand.Read(mark) // never fails
	h := &channel{name: o.Host.Name, log: &contract.Log{}, waiting: map[uint64]chan *line.Reply{},
		things: map[uint64]*thing{}, over: make(chan struct{}), gone: make(chan struct{})}
	nonce := "gauntlet-" + hex.EncodeToString(mark)
	in, err := h.login(&o, b.script(nonce, o.Keep, o.Host.Sudo))
	if err != nil {
		return nil, err
	}
	late := h.within(ctx, copyTime)
	answered := h.within(ctx, answerTime)
	err = b.send(nonce, in, &first{h.stdin, answered.stop})
	answered.stop()
	if err == nil {
		err = h.hello(line.NewReader(in))
	}
	if late.stop(); err != nil {
		return nil, h.failed(ctx, err, late, answered)
	}
	go h.beat()
	return &Host{At: o.Host, channel: h}, nil
}

// login starts ssh.
func (h *channel) login(o *Options, script string) (*bufio.Reader, error) {
	var args []string
	if o.Config != "" {
		args = append(args, "-F", o.Config)
	}
	// No terminal, no questions, nothing forwarded; and a vanished host is detected.
	args = append(args, "-T", "-x", "-a", "-e", "none", "-o", "BatchMode=yes", "-o", "ConnectTimeout=15", "-o",
		"ServerAliveInterval=5",
		"-o", "ServerAliveCountMax=3", "-o", "ClearAllForwardings=yes", "--", o.Host.Name, script)
	h.command = exec.Command(cmp.Or(o.SSH, "ssh"), args...)
	// An interrupt from the terminal is for this program only, which then ends the channel in order.
	h.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	h.command.Stderr, h.command.WaitDelay = h.log, time.Second
	var err error
	if h.stdin, err = h.command.StdinPipe(); err != nil {
		return nil, h.error(err)
	}
	out, theirs, err := os.Pipe()
	if err == nil {
		h.command.Stdout = theirs
		err = h.command.Start()
		_ = theirs.Close() // ssh has a copy
	}
	if err != nil {
		return nil, h.error(fmt.Errorf("%w; install OpenSSH's client", err))
	}
	go func() {
		h.ended = h.command.Wait()
		close(h.gone)
		time.Sleep(rest) // for its last output
		_ = out.Close()  // another process may hold the other end
	}()
	h.out = line.NewWriter(h.stdin)
	return bufio.NewReaderSize(out, mostWords), nil
}

// hello reads the supervisor's first line, and starts the reader of all others.
func (h *channel) hello(in *line.Reader) error {
	var r line.Reply
	if err := in.Next(&r); err != nil {
		return err
	}
	if r.Event != line.EventHello || r.Version != line.Version {
		return fmt.Errorf("the supervisor there is of version %d, and this program of %d; remove "+
			"~/.cache/gauntlet there", r.Version, line.Version)
	}
	h.PID = r.PID
	go h.listen(in)
	return nil
}

// failed returns the error of a connection that was not established. The last output of ssh says more than that ssh
// ended.
func (h *channel) failed(ctx context.Context, err error, timers ...*timer) error {
	_ = h.stdin.Close()
	patience := endTime
	if err != io.EOF { // ssh still runs, and has no more to say
		patience = 0
	}
	ended := h.wait(patience)
	for _, t := range timers {
		if t.expired() {
			return h.error(fmt.Errorf("no answer within %s%s", t.after, h.log.Last()))
		}
	}
	switch {
	case ctx.Err() != nil:
		return h.error(fmt.Errorf("interrupted: %w", context.Cause(ctx)))
	case errors.Is(err, io.EOF):
		return h.error(fmt.Errorf("ssh ended%s%s", how(ended), h.log.Last()))
	}
	return h.error(err)
}

func how(err error) string {
	if err == nil {
		return ""
	}
	return ": " + err.Error()
}

// error adds the name of the host.
func (h *channel) error(err error) error { return fmt.Errorf("remote: host %s: %w", h.name, err) }

// wait ends ssh, which gets some time to end by itself, and returns its result.
func (h *channel) wait(patience time.Duration) error {
	kill := time.AfterFunc(patience, h.kill)
	defer kill.Stop()
	<-h.gone
	return h.ended
}

// kill kills ssh and its children.
func (h *channel) kill() { _ = syscall.Kill(-h.command.Process.Pid, syscall.SIGKILL) }

// beat sends a sign of life to the supervisor at intervals.
func (h *channel) beat() {
	tick := time.NewTicker(line.Beat)
	defer tick.Stop()
	for {
		select {
		case <-h.over:
			return
		case <-tick.C:
			if err := h.Call(line.OpBeat, nil, nil); err != nil {
				h.fail(err)
				return
			}
		}
	}
}

// listen processes the supervisor's replies, until the channel ends.
func (h *channel) listen(in *line.Reader) {
	for {
		var r line.Reply
		if err := in.Next(&r); err != nil {
			if err != io.EOF {
				h.fail(h.error(err))
			}
			break
		}
		if err := h.hear(&r); err != nil {
			h.fail(h.error(err))
			break
		}
	}
	_ = h.stdin.Close()
	err := h.wait(endTime)
	h.fail(h.error(fmt.Errorf("the channel ended%s%s", how(err), h.log.Last())))
}

// hear processes one reply.
func (h *channel) hear(r *line.Reply) error {
	if r.Event != "" {
		t, err := h.thing(r.Of)
		if err != nil {
			return err
		}
		return t.happened(r)
	}
	h.mu.Lock()
	answer := h.waiting[r.ID]
	delete(h.waiting, r.ID)
	h.mu.Unlock()
	if answer == nil {
		return fmt.Errorf("it answers order %d, which was not given", r.ID)
	}
	answer <- r
	return nil
}

// fail records why the channel has ended, and wakes everybody who waits. The first reason counts.
func (h *channel) fail(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.broken != nil {
		return
	}
	h.broken = err
	close(h.over)
	for _, t := range h.things {
		t.end(err)
	}
	_ = h.stdin.Close()
}

// Err returns the reason why the channel has ended; nil while it lasts, or after Close.
func (h *channel) Err() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing {
		return nil
	}
	return h.broken
}

// Call sends an order and waits for its result; result may be nil.
func (h *channel) Call(op string, args, result any) error {
	raw, err := json.Marshal(args)
	if err != nil {
		return h.error(err)
	}
	answer := make(chan *line.Reply, 1)
	h.mu.Lock()
	if h.broken != nil {
		h.mu.Unlock()
		return h.broken
	}
	h.next++
	id := h.next
	h.waiting[id] = answer
	h.mu.Unlock()
	stuck := time.AfterFunc(orderTime, func() {
		h.fail(h.error(fmt.Errorf("no answer to %s within %s%s", op, orderTime, h.log.Last())))
	})
	defer stuck.Stop()
	if err := h.out.Write(line.Order{ID: id, Op: op, Args: raw}); err != nil {
		<-h.orGone()
		return cmp.Or(h.reason(), h.error(err))
	}
	select {
	case r := <-answer:
		return h.answered(op, r, result)
	case <-h.over:
		return h.reason()
	}
}

// orGone returns a channel that is closed when h has ended, or after endTime.
func (h *channel) orGone() <-chan struct{} {
	c := make(chan struct{})
	go func() {
		select {
		case <-h.over:
		case <-time.After(endTime):
		}
		close(c)
	}()
	return c
}

func (h *channel) reason() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.broken
}

func (h *channel) answered(op string, r *line.Reply, result any) error {
	if r.Error != "" {
		return h.error(&Refused{quote.Line(r.Error, quote.Sentence)})
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(r.Result, result); err != nil {
		return h.error(fmt.Errorf("its answer to %s is none", op))
	}
	return nil
}

// Refused is the error of an order that the supervisor refused or could not carry out. The channel continues.
type Refused struct{ Why string }

// Error implements error.
func (r *Refused) Error() string { return r.Why }

// Close ends the channel, and with it everything that the supervisor has started and changed. The error is the reason
// why the channel had ended before.
func (h *channel) Close() error {
	h.mu.Lock()
	before := h.broken
	if h.closing {
		before = nil
	}
	h.closing = true
	h.mu.Unlock()
	_ = h.stdin.Close()
	<-h.gone
	return before
}

// timer ends a connection that takes too long.
type timer struct {
	after time.Duration
	t     *time.Timer
	mu    sync.Mutex
	late  bool
	done  chan struct{}
	once  sync.Once
}

// within kills ssh after d, or when ctx is cancelled.
func (h *channel) within(ctx context.Context, d time.Duration) *timer {
	t := &timer{after: d, done: make(chan struct{})}
	t.t = time.AfterFunc(d, func() {
		t.mu.Lock()
		t.late = true
		t.mu.Unlock()
		h.kill()
	})
	go func() {
		select {
		case <-ctx.Done():
			h.kill()
		case <-t.done:
		}
	}()
	return t
}

func (t *timer) stop() {
	t.t.Stop()
	t.once.Do(func() { close(t.done) })
}

func (t *timer) expired() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.late
}

// first calls when before each write: the first write means that the host has answered.
type first struct {
	io.Writer
	when func()
}

// Write implements io.Writer.
func (f *first) Write(b []byte) (int, error) {
	f.when()
	return f.Writer.Write(b)
}
