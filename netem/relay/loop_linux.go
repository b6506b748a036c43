package relay

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/channel"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// relay is a running relay.
type relay struct {
	config   *Config
	ab, ba   *path
	store    store
	journal  *journal                 // nil without a fate log
	lateness lateness                 // of the departures of the phase, both directions
	causes   map[channel.Cause]string // texts of the causes that have occurred
	phase    Phase                    // current phase
	from     vtime.Time               // start of the phase
	realtime bool                     // the kernel granted a real-time priority
}

// Run forwards frames between A and B until the context ends, and returns the Stats of the last phase. It begins in
// ProbePhase if Config.Commands is set, else in RunPhase with time zero as epoch.
func Run(ctx context.Context, config Config) (Stats, error) {
	if err := config.validate(); err != nil {
		return Stats{}, err
	}
	r := &relay{config: &config, store: store{limit: config.Memory}, journal: newJournal(config.Log),
		causes: map[channel.Cause]string{}}
	r.ab, r.ba = newPath(r, fault.A, config.A, config.B, config.PastB), newPath(r, fault.B, config.B,
		config.A, config.PastA)
	phase := RunPhase
	if config.Commands != nil {
		phase = ProbePhase
	}
	if err := r.begin(phase, 0); err != nil {
		return Stats{}, errors.Join(err, r.journal.close())
	}
	err := r.serve(ctx)
	stats := r.stats()
	if e := r.journal.close(); e != nil {
		err = errors.Join(err, fmt.Errorf("relay: write the fate log: %w", e))
	}
	return stats, err
}

// serve locks a thread and runs the loop on it.
func (r *relay) serve(ctx context.Context) error {
	defer runtime.UnlockOSThread()
	if err := packetio.LockThread(); err != nil {
		return err
	}
	if p := r.config.Processor; r.config.Realtime && p != nil {
		if err := packetio.Pin(*p); err != nil {
			return err
		}
	}
	if r.config.Realtime && packetio.Realtime(packetio.OfLink) == nil {
		r.realtime = true
		defer func() { _ = packetio.Ordinary() }() // the thread goes back to Go's pool
	}
	ctx, cancel := context.WithCancel(ctx)
	inbox, err := newInbox(ctx, r.config.Commands)
	if err != nil {
		cancel()
		return err
	}
	defer inbox.close()
	defer cancel()
	waiter := packetio.NewWaiter(r.config.Clock, r.config.A.Fd(), r.config.B.Fd(), inbox.event)
	if r.config.Realtime {
		waiter.KeepProcessor()
	}
	for !inbox.stopped.Load() {
		if err := r.turn(waiter); err != nil {
			return err
		}
		if err := r.obey(inbox); err != nil {
			return err
		}
	}
	return nil
}

// turn does all work that is due now, and waits if no frame was received.
func (r *relay) turn(waiter *packetio.Waiter) error {
	busy := false
	for _, p := range [...]*path{r.ab, r.ba} {
		some, err := p.receive()
		if err != nil {
			return err
		}
		busy = busy || some
	}
	// Receiving comes first, so that a frame that has just arrived on a link without delay leaves in the same turn. A
	// turn takes one batch from each device and gives each one batch at most, so neither direction starves the other.
	now, until := r.config.Clock.Now(), vtime.Never
	for _, p := range [...]*path{r.ab, r.ba} {
		p.release(now)
		p.injectTimed(now)
		if err := p.depart(now); err != nil {
			return err
		}
		until = min(until, p.next(now))
	}
	if busy || until <= now {
		return nil
	}
	return waiter.Wait(until)
}

// begin starts a phase with fresh channels and counters.
func (r *relay) begin(phase Phase, epoch vtime.Time) error {
	ab, ba, err := r.config.channels(phase)
	if err != nil {
		return err
	}
	r.journal.flush()
	now := r.config.Clock.Now()
	var injections []Injection
	if phase == RunPhase {
		injections = r.config.Injections
	}
	for _, p := range [...]*path{r.ab, r.ba} {
		for p.nheld > 0 { // the channel that would release them is replaced
			p.free(p.held[0].ticket, now)
		}
		counts, err := p.in.Counts()
		if err != nil {
			return err
		}
		// The queues stay: frames in flight keep the verdict of the phase in which they were sent.
		p.base, p.stats, p.script = counts, PathStats{}, newScript(injections, p.side, epoch)
	}
	r.ab.channel, r.ab.delay = ab, r.config.Link.AB.Delay
	r.ba.channel, r.ba.delay = ba, r.config.Link.BA.Delay
	r.phase, r.from, r.lateness = phase, now, newLateness()
	return nil
}

// obey executes the waiting commands.
func (r *relay) obey(in *inbox) error {
	for in.waiting.Load() > 0 {
		c := in.next()
		if err := c.validate(); err != nil {
			return err
		}
		stats := r.stats()
		if c.Op == SetPhase {
			if err := r.begin(c.Phase, c.Epoch); err != nil {
				return err
			}
		}
		if c.Reply != nil {
			c.Reply(stats)
		}
	}
	return nil
}

// stats returns the Stats of the phase so far.
func (r *relay) stats() Stats {
	s := Stats{
		Phase: r.phase, AB: r.ab.summary(), BA: r.ba.summary(), Lateness: r.lateness.summary(),
		Memory: r.store.used, Realtime: r.realtime, From: r.from, To: r.config.Clock.Now(),
	}
	if r.journal != nil {
		s.LogDropped = r.journal.Dropped
	}
	return s
}

// summary returns the counters of the path, its channel and its device in the phase.
func (p *path) summary() PathStats {
	s := p.stats
	s.Channel, s.InFlight = p.channel.Counters(), p.inFlight()
	if c, err := p.in.Counts(); err == nil { // a device that was removed has no counters
		s.KernelDrops = c.Dropped - p.base.Dropped
	}
	return s
}

// cause returns the text of a cause, from a cache.
func (r *relay) cause(c channel.Cause) string {
	if c.Kind == channel.None {
		return ""
	}
	s, ok := r.causes[c]
	if !ok {
		s = c.String()
		r.causes[c] = s
	}
	return s
}

// inbox passes commands and the end of the context to the loop. The loop sleeps in ppoll; an eventfd wakes it.
type inbox struct {
	event    int            // file descriptor of the eventfd
	stopped  atomic.Bool    // the context has ended
	waiting  atomic.Int32   // commands in the channel that the loop has not taken
	commands chan Command   // from listen to the loop
	done     sync.WaitGroup // the goroutine of listen
}

// newInbox returns an inbox that listens to commands; it must be closed after the context has ended.
func newInbox(ctx context.Context, commands <-chan Command) (*inbox, error) {
	event, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("relay: eventfd: %w", err)
	}
	in := &inbox{event: event, commands: make(chan Command, 16)}
	in.done.Go(func() { in.listen(ctx, commands) })
	return in, nil
}

// listen passes on commands until the context ends. Closing the channel of commands does not end the relay, since its
// owner may have no further commands.
func (in *inbox) listen(ctx context.Context, commands <-chan Command) {
	for {
		select {
		case <-ctx.Done():
			in.stopped.Store(true)
			in.wake()
			return
		case c, ok := <-commands:
			if !ok {
				commands = nil
				continue
			}
			select {
			case in.commands <- c:
				in.waiting.Add(1)
				in.wake()
			case <-ctx.Done():
			}
		}
	}
}

// wake makes the descriptor readable. It cannot block: the counter of an eventfd never comes near its limit here.
func (in *inbox) wake() { _, _ = unix.Write(in.event, binary.NativeEndian.AppendUint64(nil, 1)) }

// next returns the next waiting command; there is one.
func (in *inbox) next() Command {
	var count [8]byte
	_, _ = unix.Read(in.event, count[:]) // rearms the event; it may have been read already
	in.waiting.Add(-1)
	return <-in.commands
}

// close waits for listen, which may still use the descriptor.
func (in *inbox) close() {
	in.done.Wait()
	_ = unix.Close(in.event)
}
