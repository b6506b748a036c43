package remote

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/remote/line"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/station"
	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// Limits of events that nobody has asked for.
const (
	mostThings  = 10_000
	mostWaiting = 4 << 20
)

// thing is a program or a connection on the host. Its events may arrive before the answer to the order that created it.
type thing struct {
	mu       sync.Mutex
	changed  *sync.Cond
	data     []byte // received and not yet taken
	out      io.Writer
	accepted bool
	ended    error // io.EOF for a connection that is closed, *station.Exit or nil for a program; set with done
	done     bool
}

// thing returns the thing with a number, and creates it at first use.
func (h *channel) thing(of uint64) (*thing, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.things[of]
	if t == nil {
		if len(h.things) >= mostThings {
			return nil, fmt.Errorf("it tells of more than %d programs and connections", mostThings)
		}
		t = &thing{}
		t.changed = sync.NewCond(&t.mu)
		h.things[of] = t
		if h.broken != nil {
			t.ended, t.done = h.broken, true
		}
	}
	return t, nil
}

// happened processes an event.
func (t *thing) happened(r *line.Reply) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.changed.Broadcast()
	switch r.Event {
	case line.EventOutput, line.EventData:
		if t.out != nil {
			_, _ = t.out.Write(r.Data) // a log accepts everything
			return nil
		}
		if t.data = append(t.data, r.Data...); len(t.data) > mostWaiting {
			return fmt.Errorf("it says more than %d MiB that nobody has asked for", mostWaiting>>20)
		}
	case line.EventAccepted:
		t.accepted = true
	case line.EventClosed:
		t.ended, t.done = io.EOF, true
	case line.EventExited:
		t.done = true
		if r.Code != 0 || r.Signal != "" {
			t.ended = &station.Exit{Code: r.Code, Signal: quote.Line(r.Signal, quote.Name)}
		}
	default:
		return fmt.Errorf("event %q: unknown; it is of another version", quote.Line(r.Event, quote.Name))
	}
	return nil
}

// end marks the thing as ended when the channel has ended.
func (t *thing) end(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.done {
		t.ended, t.done = err, true
	}
	t.changed.Broadcast()
}

// await returns when ready does, or when the thing has ended. The caller holds the lock.
func (t *thing) await(ready func() bool) {
	for !t.done && !ready() {
		t.changed.Wait()
	}
}

// Program is a program on the host.
type Program struct {
	host *channel
	of   uint64
	t    *thing
}

// Start implements station.Place.
func (h *Host) Start(_ trace.Side, program string, args []string, idle bool, out io.Writer) (station.Process, error) {
	var started line.Started
	if err := h.Call(line.OpStart, line.Start{Program: program, Args: args, Idle: idle}, &started); err != nil {
		return nil, err
	}
	t, err := h.thing(started.Of)
	if err != nil {
		return nil, h.error(err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	_, _ = out.Write(t.data)
	t.data, t.out = nil, out
	return &Program{h.channel, started.Of, t}, nil
}

// Wait returns when the program has ended: *station.Exit for an exit code other than 0 or a signal, another error when
// the channel has ended.
func (p *Program) Wait() error {
	p.t.mu.Lock()
	defer p.t.mu.Unlock()
	p.t.await(func() bool { return false })
	return p.t.ended
}

// signal sends a signal to the program and its children. The program may have ended, and so may the channel.
func (p *Program) signal(number syscall.Signal) {
	_ = p.host.Call(line.OpSignal, line.Signal{Of: p.of, Signal: int(number)}, nil)
}

// Kill implements station.Process.
func (p *Program) Kill() { p.signal(syscall.SIGKILL) }

// Pause implements station.Process.
func (p *Program) Pause() { p.signal(syscall.SIGSTOP) }

// Resume implements station.Process.
func (p *Program) Resume() { p.signal(syscall.SIGCONT) }

// Glance implements station.Process. On the host it lasts until the program gets a signal or ends, which the caller
// that closes the channels causes.
func (p *Program) Glance(_, _ <-chan struct{}) {
	_ = p.host.Call(line.OpSignal, line.Signal{Of: p.of, Glance: true}, nil)
}

// Memory reads n bytes of the program's memory.
func (p *Program) Memory(va uint64, n int) ([]byte, error) {
	b := make([]byte, 0, n)
	for len(b) < n {
		var d line.Data
		want := min(n-len(b), line.Chunk)
		if err := p.host.Call(line.OpMemory,
			line.Memory{Of: p.of, Address: va + uint64(len(b)), Len: want}, &d); err != nil {
			return nil, err
		}
		if len(d.Bytes) != want {
			return nil, p.host.error(fmt.Errorf("%d bytes of memory; want %d", len(d.Bytes), want))
		}
		b = append(b, d.Bytes...)
	}
	return b, nil
}

// Dial implements station.Place.
func (h *Host) Dial(port int) (net.Conn, error) {
	var s line.Started
	if err := h.Call(line.OpDial, line.Started{Port: port}, &s); err != nil {
		return nil, err
	}
	return h.carry(s.Of)
}

// FreePort implements station.Place.
func (h *Host) FreePort() (int, error) {
	var s line.Started
	err := h.Call(line.OpFreePort, nil, &s)
	return s.Port, err
}

// Listen implements station.Place.
func (h *Host) Listen() (port int, accept func(time.Time) (net.Conn, error), stop func(), err error) {
	var s line.Started
	if err := h.Call(line.OpListen, nil, &s); err != nil {
		return 0, nil, nil, err
	}
	t, err := h.thing(s.Of)
	if err != nil {
		return 0, nil, nil, h.error(err)
	}
	accept = func(until time.Time) (net.Conn, error) {
		late := time.AfterFunc(time.Until(until), func() { t.end(io.EOF) })
		defer late.Stop()
		t.mu.Lock()
		t.await(func() bool { return t.accepted })
		ok, why := t.accepted, t.ended
		t.mu.Unlock()
		if ok {
			return h.carry(s.Of)
		}
		if why == io.EOF {
			why = h.error(errors.New("the tool there did not connect in time"))
		}
		return nil, why
	}
	stop = func() {
		t.mu.Lock()
		taken := t.accepted
		t.mu.Unlock()
		if !taken {
			_ = h.Call(line.OpClose, line.Started{Of: s.Of}, nil) // it may have ended
		}
	}
	return s.Port, accept, stop, nil
}

// carry returns a net.Conn for a connection on the host. Two goroutines serve the other end of the pipe, one for each
// direction, until either side closes.
func (h *Host) carry(of uint64) (net.Conn, error) {
	t, err := h.thing(of)
	if err != nil {
		return nil, h.error(err)
	}
	mine, theirs := net.Pipe()
	go func() { // from the host
		defer theirs.Close()
		for {
			t.mu.Lock()
			t.await(func() bool { return len(t.data) > 0 })
			data, done := t.data, t.done
			t.data = nil
			t.mu.Unlock()
			if len(data) > 0 {
				if _, err := theirs.Write(data); err != nil {
					return
				}
			} else if done {
				return
			}
		}
	}()
	go func() { // to the host
		b := make([]byte, 32<<10)
		for {
			n, err := theirs.Read(b)
			if n > 0 && h.Call(line.OpWrite, line.Data{Of: of, Bytes: b[:n]}, nil) != nil {
				break
			}
			if err != nil {
				break
			}
		}
		_ = theirs.Close()
		_ = h.Call(line.OpClose, line.Started{Of: of}, nil) // it may have ended
		t.end(io.EOF)
	}()
	return mine, nil
}
