package supervise

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/remote/line"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/station"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// Main serves one channel and returns when it has ended, with all changes undone. leave is the file of this binary,
// which is removed at once with its folder; "" keeps it.
func Main(in io.Reader, out io.Writer, leave string) error {
	if leave != "" { // a running program does not need its file
		_ = os.Remove(leave)
		_ = os.Remove(filepath.Dir(leave)) // fails when the folder is not empty; then it is not ours
	}
	// A closed channel is an error of the next write, and must not end this process before it has undone its changes.
	signal.Ignore(unix.SIGPIPE)
	s := &supervisor{out: line.NewWriter(out), programs: map[uint64]*program{}, streams: map[uint64]stream{},
		ended: make(chan error, 1), starts: make(chan func())}
	go s.starter()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGTERM, unix.SIGHUP, unix.SIGINT)
	if err := s.out.Write(line.Reply{Event: line.EventHello, Version: line.Version, PID: os.Getpid()}); err != nil {
		return err
	}
	lease := time.AfterFunc(line.Lease, func() { s.end(fmt.Errorf("supervise: no sign of life for %s", line.Lease)) })
	go s.listen(in, lease)
	select {
	case caught := <-signals:
		s.end(fmt.Errorf("supervise: %s", caught))
	case err := <-s.ended:
		s.ended <- err
	}
	err := <-s.ended
	return cmp.Or(s.close(), err)
}

// supervisor serves one channel.
type supervisor struct {
	out   *line.Writer
	ended chan error
	// starts takes functions for starter, whose thread never ends: the kernel kills a child when the thread that
	// started it ends.
	starts chan func()

	mu          sync.Mutex
	next        uint64 // last number given to a program, connection or listener
	programs    map[uint64]*program
	streams     map[uint64]stream
	held        *held
	completions *station.Completions
	closed      bool
}

// end records why the channel has ended; the first reason counts.
func (s *supervisor) end(why error) {
	select {
	case s.ended <- why:
	default:
	}
}

// starter starts programs, on a thread that never ends.
func (s *supervisor) starter() {
	runtime.LockOSThread()
	for f := range s.starts {
		f()
	}
}

// listen executes orders until the channel ends. Orders whose sequence matters, such as writes to a connection, are
// executed at once, the others concurrently.
func (s *supervisor) listen(in io.Reader, lease *time.Timer) {
	orders := line.NewReader(in)
	for {
		var o line.Order
		if err := orders.Next(&o); err != nil {
			if err == io.EOF {
				err = nil
			}
			s.end(err)
			return
		}
		lease.Reset(line.Lease)
		switch o.Op {
		case line.OpBeat, line.OpWrite, line.OpClose, line.OpSignal:
			s.serve(&o)
		default:
			go s.serve(&o)
		}
	}
}

// serve executes an order and answers it.
func (s *supervisor) serve(o *line.Order) {
	result, err := s.do(o)
	r := line.Reply{ID: o.ID}
	if err == nil && result != nil {
		r.Result, err = json.Marshal(result)
	}
	if err != nil {
		r.Error = err.Error()
	}
	if err := s.out.Write(&r); err != nil {
		s.end(err)
	}
}

// do executes an order.
func (s *supervisor) do(o *line.Order) (any, error) {
	switch o.Op {
	case line.OpBeat:
		return nil, nil
	case line.OpClock:
		return line.Clock{Wall: time.Now().UnixNano(), Monotonic: packetio.Monotonic()}, nil
	case line.OpIdentify:
		return with(o, func(p line.Place) (any, error) { return station.Identify(p.Device, p.Port, p.Network) })
	case line.OpDescribe:
		return with(o, func(p line.Place) (any, error) { return station.Describe(p.Device, p.Port, p.Network) })
	case line.OpCounters:
		return with(o, func(p line.Place) (any, error) {
			return station.ReadCounters(p.Device, p.Port, p.Network), nil
		})
	case line.OpHold:
		return with(o, s.hold)
	case line.OpRelease:
		return nil, s.release()
	case line.OpStart:
		return with(o, s.start)
	case line.OpSignal:
		return with(o, s.signal)
	case line.OpMemory:
		return with(o, s.memory)
	case line.OpRun:
		return with(o, s.run)
	case line.OpListen:
		return s.listener()
	case line.OpFreePort:
		return freePort()
	case line.OpDial:
		return with(o, s.dial)
	case line.OpWrite:
		return with(o, s.write)
	case line.OpClose:
		return with(o, s.closeStream)
	case line.OpWatch:
		return nil, s.watch()
	case line.OpCompletions:
		return with(o, s.completed)
	case line.OpWatchFrames:
		return with(o, watchFrames)
	case line.OpSendFrame:
		return with(o, sendFrames)
	}
	return nil, fmt.Errorf("supervise: order %q: unknown; it is of another version", o.Op)
}

// with decodes the arguments of an order and calls f with them.
func with[T any](o *line.Order, f func(T) (any, error)) (any, error) {
	var args T
	if err := json.Unmarshal(o.Args, &args); err != nil {
		return nil, fmt.Errorf("supervise: order %s: %w", o.Op, err)
	}
	return f(args)
}

// number returns the number of the next program or connection; false when the channel has ended, and nothing may be
// started.
func (s *supervisor) number() (uint64, bool) {
	s.next++
	return s.next, !s.closed
}

// close ends all programs and connections, and undoes all changes.
func (s *supervisor) close() (first error) {
	s.mu.Lock()
	s.closed = true
	programs, streams, watched := s.programs, s.streams, s.completions
	s.mu.Unlock()
	for _, p := range programs {
		p.kill()
	}
	for _, p := range programs {
		<-p.exited
	}
	for _, c := range streams {
		_ = c.Close()
	}
	if watched != nil {
		first = watched.Close()
	}
	return cmp.Or(first, s.release())
}

// watch starts to watch completions.
func (s *supervisor) watch() error {
	c, err := station.WatchCompletions()
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.completions = c
	}
	return err
}

// completed returns the completions of a queue pair, and ends the watch.
func (s *supervisor) completed(q line.Queue) (any, error) {
	s.mu.Lock()
	c := s.completions
	s.completions = nil
	s.mu.Unlock()
	if c == nil {
		return nil, fmt.Errorf("supervise: completions are not watched")
	}
	list, err := c.Of(q.QPN)
	if err = cmp.Or(err, c.Close()); err != nil {
		return nil, err
	}
	return line.Statuses{Statuses: list}, nil
}

// kill kills a process and its children.
func kill(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }
