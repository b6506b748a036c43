package tap

import (
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// Options describe a tap.
type Options struct {
	Place capture.Tap
	Open  func(*packetio.Clock, packetio.Options) (*packetio.Port, error) // opens the device at the place
	Base  packetio.Timebase                                               // time of the run, for the frames
	File  *os.File                                                        // file of the spool; the caller closes it
	// Ignore selects frames that are not part of the run; nil selects none.
	Ignore func(frame []byte) bool
}

// Tap watches the device at one end of a hop.
type Tap struct {
	port    *packetio.Port
	clock   *packetio.Clock // the machine's, for the tap's own waits; frames have the run's time
	ignore  func(frame []byte) bool
	spool   spool
	stop    atomic.Bool
	seen    atomic.Uint64 // frames of the run
	fresh   atomic.Uint64 // frames of these that are no repetition
	news    news
	ignored uint64        // RoCE that is not of the run; read it and the next two after ended
	kernel  uint64        // frames that the kernel sent on its own account
	arrived uint64        // frames of any kind that came to the device
	ended   chan struct{} // closed when it watches no longer
	err     error         // why; read it, dropped and swapped after ended
	dropped uint64        // frames that the kernel dropped because the tap was too slow
	swapped uint64        // frames that the kernel passed to the tap behind a later one
	closing sync.Once
}

// gather is the time for which a tap lets frames accumulate before it reads them all: a thread that woke up for each
// would take processor time from the endpoints. The timestamps are the kernel's, and stay exact.
const gather = vtime.Millisecond

// A tap with much to read rests after each stint. It has slept for long, so that the kernel's scheduler would otherwise
// let it finish before an endpoint on the same processor that has a packet to answer.
const (
	stint  = 500 * vtime.Microsecond
	breath = 50 * vtime.Microsecond
)

// tapBuffer holds half a second of a 500 Mb/s link, with the kernel's overhead per frame.
const tapBuffer = 64 << 20

// Start opens the device and begins to spool.
func Start(o Options) (*Tap, error) {
	t := &Tap{ignore: o.Ignore, clock: packetio.NewClock(o.Base.Start), spool: newSpool(o.Place, o.File),
		ended: make(chan struct{})}
	var err error
	if t.port, err = o.Open(o.Base.Clock(), packetio.Options{Outgoing: true, Buffer: tapBuffer}); err != nil {
		return nil, err
	}
	go func() {
		defer close(t.ended)
		t.err = t.run()
	}()
	return t, nil
}

// run spools until stop is set and no frame waits.
func (t *Tap) run() error {
	if err := packetio.LockThread(); err != nil {
		return err
	}
	arrival, pause := packetio.NewWaiter(t.clock, t.port.Fd()), packetio.NewWaiter(t.clock)
	for {
		last := t.stop.Load() // frames after this are not of the run
		some, err := t.drain(pause)
		if err != nil || !some && last {
			return err
		}
		if last {
			continue
		}
		if err := arrival.Wait(t.clock.Now().Add(20 * vtime.Millisecond)); err != nil {
			return err
		}
		if err := pause.Wait(t.clock.Now().Add(gather)); err != nil {
			return err
		}
	}
}

// drain spools the waiting frames.
func (t *Tap) drain(pause *packetio.Waiter) (some bool, err error) {
	for began := t.clock.Now(); ; {
		frames, err := t.port.Receive()
		if err != nil || len(frames) == 0 {
			return some, err
		}
		some = true
		for i := range frames {
			if err := t.keep(&frames[i]); err != nil {
				return some, err
			}
		}
		if now := t.clock.Now(); now.Sub(began) >= stint {
			if err := pause.Wait(now.Add(breath)); err != nil {
				return some, err
			}
			began = t.clock.Now()
		}
	}
}

// keep spools a frame of the run: sent by an endpoint, or changed by the link.
func (t *Tap) keep(p *packetio.Packet) error {
	if !p.Outgoing {
		t.arrived++
	}
	switch {
	case roce.OfKernel(p.Data):
		t.kernel++
		return nil
	case t.ignore != nil && t.ignore(p.Data):
		t.ignored++
		return nil
	}
	t.seen.Add(1)
	if t.news.hear(p.Data) {
		t.fresh.Add(1)
	}
	return t.spool.write(p)
}

// Close ends the tap; a second call does nothing but return the same error.
func (t *Tap) Close() error {
	t.closing.Do(func() {
		t.stop.Store(true)
		<-t.ended
		counts, err := t.port.Counts()
		t.dropped, t.swapped = counts.Dropped, counts.Swapped
		for _, next := range []error{err, t.spool.flush(), t.port.Close()} {
			if t.err == nil {
				t.err = next
			}
		}
	})
	return t.err
}

// Seen returns the number of frames captured so far.
func (t *Tap) Seen() uint64 { return t.seen.Load() }

// Fresh returns the number of frames captured so far that are no repetition: their PSN is the newest of their QP.
func (t *Tap) Fresh() uint64 { return t.fresh.Load() }

// Passed returns the number of frames that have passed the tap: those that may be of the run, including ignored ones,
// and those that the kernel sent on its own account. It is valid after Close.
func (t *Tap) Passed() (frames, kernel uint64) { return t.seen.Load() + t.ignored, t.kernel }

// Arrived returns the largest number of frames that may have come to the device since the tap was opened: those that it
// has seen come, and those of either direction that it dropped. It is valid after Close.
func (t *Tap) Arrived() uint64 { return t.arrived + t.dropped }

// Ended is closed when the tap has ended.
func (t *Tap) Ended() <-chan struct{} { return t.ended }

// Err returns the reason why the tap has ended; nil if it was closed. It is valid after Ended.
func (t *Tap) Err() error { return t.err }

// Dropped returns how many frames the kernel dropped because the tap was too slow. It is valid after Close.
func (t *Tap) Dropped() uint64 { return t.dropped }

// Source returns the frames of the run, after Close. The run began at from on the clock of the tap, and at zero on the
// wall.
func (t *Tap) Source(zero time.Time, from vtime.Time) (*Source, error) {
	return t.spool.source(zero, from, t.dropped)
}

// Swapped returns how many arriving frames the kernel passed to the tap behind one that had arrived later, and so
// perhaps to the endpoint. It is valid after Close.
func (t *Tap) Swapped() uint64 { return t.swapped }
