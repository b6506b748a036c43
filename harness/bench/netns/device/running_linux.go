package device

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/station"
	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// running is a tool in the course of a run.
type running struct {
	tool    *dut.Tool
	side    trace.Side
	at      dut.Setting
	place   station.Place
	process station.Process
	said    *contract.Log
	exited  chan struct{}
	meeting *dut.Meeting
	done    chan struct{} // closed when an active tool has done its work, or has ended
	over    chan struct{} // closed when the run is
	enough  chan struct{} // closed when glances are over, which calm does
	calm    sync.Once
	clock   *packetio.Clock
	// Time at which an active tool has reported the end of its work; vtime.Never until then. It is set before done is
	// closed.
	doneAt  vtime.Time
	goneAt  vtime.Time  // time at which the process had ended, set before exited is closed
	how     error       // result of the process, likewise
	killed  atomic.Bool // by the bench
	found   inspected
	counted counted
	watched station.Watched // nil when they are not
}

// start starts the tool.
func (r *running) start(at dut.Setting) (err error) {
	if r.process, err = r.place.Start(r.side, r.tool.Program, r.tool.Args(at), r.tool.Spins(), r.said); err != nil {
		return err
	}
	go func() {
		r.how = r.process.Wait()
		r.goneAt = r.clock.Now()
		close(r.exited)
	}()
	return nil
}

// watch closes done when the tool has done its work. A tool that serves has no work of its own.
func (r *running) watch() {
	defer close(r.done)
	switch {
	case r.tool.Answers:
		<-r.exited
	case r.tool.Active:
		if r.meeting.Ended() {
			r.doneAt = r.clock.Now()
			r.pause()
		}
	}
}

// idle reports whether the tool has done its work.
func (r *running) idle() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// met ends the tool after a failed exchange of parameters, with an error that has the tool's output.
func (r *running) met(err error) error {
	if err != nil {
		return r.fail(err)
	}
	go r.watch()
	return nil
}

// fail ends the tool, and adds its output to the error.
func (r *running) fail(err error) error {
	r.kill()
	return fmt.Errorf("netns: %w%s", err, r.said.Last())
}

// close ends the exchange, then the tool if it still runs, and its observers. A tool that polls would not notice the
// end of the exchange, and is ended first: its kernel then closes its connection.
func (r *running) close() error {
	if r.tool.Polls() {
		r.kill()
	}
	err := r.meeting.Close()
	r.end()
	if r.watched != nil {
		err = errors.Join(err, r.watched.Close())
	}
	return err
}

// kill ends the tool at once, even if it is paused.
func (r *running) kill() {
	r.killed.Store(true)
	r.process.Kill()
	<-r.exited
}

// cutShort ends a tool that is still at work when the run has ended. Otherwise soft-RoCE would go on sending, and take
// processor time from the rest of the run.
func (r *running) cutShort() {
	if r != nil && r.tool.Active && !r.idle() {
		r.kill()
	}
}

// crashed returns the error of a tool that a signal has ended, unless the bench sent it; nil for any other. A tool that
// gives up prints a message and ends with an exit code.
func (r *running) crashed() error {
	if r == nil {
		return nil
	}
	select {
	case <-r.exited:
	default:
		return nil
	}
	var exit *station.Exit
	if r.killed.Load() || !errors.As(r.how, &exit) || exit.Signal == "" {
		return nil
	}
	return fmt.Errorf("netns: %s at %s ended in the middle of the run: %w%s", r.tool.Program, r.side,
		r.how, r.said.Last())
}

// end waits a little for the end of the tool, and then kills it.
func (r *running) end() {
	select {
	case <-r.exited:
	case <-time.After(100 * time.Millisecond):
		r.kill()
	}
}
