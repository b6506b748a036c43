package netns

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// tap watches the device at one end of a hop, both directions, and spools every RoCEv2 frame to a file. It runs on a thread of
// its own; the spool is turned into pcapng once it is known what became of each frame.
type tap struct {
	place   capture.Tap
	port    *packetio.Port
	clock   *packetio.Clock
	file    *os.File
	out     *bufio.Writer
	head    [spoolHead]byte
	stop    atomic.Bool
	ended   chan struct{}           // closed when it watches no longer
	err     error                   // why; read it and dropped after ended
	ignore  func(frame []byte) bool // what is not of the run; nil ignores nothing
	dropped uint64                  // frames that the kernel dropped because the tap was too slow
	closing sync.Once
}

// spoolHead precedes each frame of a spool: run time in picoseconds, direction, length.
const spoolHead = 8 + 1 + 4

// gather is how long a tap lets frames gather in its buffer before it takes them all: a thread that woke up for each
// would take the processor from the endpoints. The time stamps are the kernel's and do not suffer.
const gather = vtime.Millisecond

// A tap that has much to take rests after each stint. It has slept for long, so the kernel's scheduler lets it finish before an
// endpoint on the same processor that has a packet to answer.
const (
	stint  = 500 * vtime.Microsecond
	breath = 50 * vtime.Microsecond
)

// tapBuffer holds half a second of a 500 Mb/s link, with the kernel's overhead per frame.
const tapBuffer = 64 << 20

// spoolWrite is how much of a spool is written at once. A kernel that is not preemptible lets nobody else have the processor
// until it has copied all of it: a megabyte takes milliseconds, which the endpoints would be late.
const spoolWrite = 32 << 10

// openTap opens the device, which is in the namespace n, and begins to spool to file, in times since base.
func openTap(n *Namespace, place capture.Tap, base int64, file *os.File, ignore func([]byte) bool) (*tap, error) {
	t := &tap{place: place, ignore: ignore, clock: packetio.NewClock(base), file: file, out: bufio.NewWriterSize(file, spoolWrite), ended: make(chan struct{})}
	err := n.Do(func() (err error) {
		t.port, err = packetio.Open(place.Device, t.clock, packetio.Options{Outgoing: true, RoCE: true, Buffer: tapBuffer})
		return err
	})
	if err != nil {
		return nil, err
	}
	go func() {
		defer close(t.ended)
		t.err = t.run()
	}()
	return t, nil
}

// run spools until it is told to stop and nothing waits any more.
func (t *tap) run() error {
	if err := packetio.LockThread(); err != nil {
		return err
	}
	arrival, pause := packetio.NewWaiter(t.clock, t.port.Fd()), packetio.NewWaiter(t.clock)
	for {
		last := t.stop.Load() // what comes after this is not of the run
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

// drain spools what waits.
func (t *tap) drain(pause *packetio.Waiter) (some bool, err error) {
	for began := t.clock.Now(); ; {
		frames, err := t.port.Receive()
		if err != nil || len(frames) == 0 {
			return some, err
		}
		some = true
		for i := range frames {
			if err := t.spool(&frames[i]); err != nil {
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

func (t *tap) spool(p *packetio.Packet) error {
	if t.ignore != nil && t.ignore(p.Data) {
		return nil
	}
	binary.LittleEndian.PutUint64(t.head[:], uint64(p.Time))
	t.head[8] = 0
	if p.Outgoing {
		t.head[8] = 1
	}
	binary.LittleEndian.PutUint32(t.head[9:], uint32(len(p.Data)))
	_, err := t.out.Write(t.head[:])
	if err == nil {
		_, err = t.out.Write(p.Data)
	}
	return t.spoilt(err)
}

// spoilt is the error of a spool that cannot be written or read.
func (t *tap) spoilt(err error) error {
	if err == nil {
		return nil
	}
	var path *os.PathError // names a file that has no name
	if errors.As(err, &path) {
		err = path.Err
	}
	return fmt.Errorf("netns: spool of tap %s in %s: %w; free some space or set TMPDIR", t.place, os.TempDir(), err)
}

// close ends the tap; a second call does nothing but return the same error.
func (t *tap) close() error {
	t.closing.Do(func() {
		t.stop.Store(true)
		<-t.ended
		counts, err := t.port.Counts()
		t.dropped = counts.Dropped
		for _, next := range []error{err, t.spoilt(t.out.Flush()), t.port.Close()} {
			if t.err == nil {
				t.err = next
			}
		}
	})
	return t.err
}

// spoolReader reads a spool back as captured frames, in the order of their times. The order of the spool is nearly that:
// a frame that arrives and the answer to it come from two processors, and the answer may reach the tap first.
type spoolReader struct {
	in    *bufio.Reader
	tap   *tap
	zero  time.Time
	from  vtime.Time
	ahead []spooled // by time
	spare []byte    // of the frame returned last
	ended bool
}

// spooled is a frame of a spool.
type spooled struct {
	at  vtime.Time
	out bool
	raw []byte
}

// readAhead is how many frames may pass one that came first.
const readAhead = 64

// source rewinds the spool. Frames carry wall-clock times; the run began at from on the clock of the bench, and at zero
// on the wall. What came earlier is left out.
func (t *tap) source(zero time.Time, from vtime.Time) (*spoolReader, error) {
	if _, err := t.file.Seek(0, io.SeekStart); err != nil {
		return nil, t.spoilt(err)
	}
	return &spoolReader{in: bufio.NewReaderSize(t.file, 1<<20), tap: t, zero: zero, from: from}, nil
}

// Stats tells the merger what the tap lost.
func (s *spoolReader) Stats() capture.Stats { return capture.Stats{Dropped: s.tap.dropped} }

// Next implements capture.Source.
func (s *spoolReader) Next(f *capture.Frame) error {
	for len(s.ahead) < readAhead && !s.ended {
		s.read()
	}
	if len(s.ahead) == 0 {
		return io.EOF
	}
	next := s.ahead[0]
	s.ahead, s.spare = append(s.ahead[:0], s.ahead[1:]...), next.raw
	*f = capture.Frame{Wall: s.zero.Add(next.at.Sub(s.from).Std()), Raw: next.raw, Kept: len(next.raw), Tap: s.tap.place.Side, HasTap: true,
		Way: capture.Inward}
	if next.out {
		f.Way = capture.Outward
	}
	return nil
}

// read takes one frame of the run into the order of times. A spool that a full disk has cut ends where it was cut.
func (s *spoolReader) read() {
	head := &s.tap.head
	if _, err := io.ReadFull(s.in, head[:]); err != nil {
		s.ended = true
		return
	}
	n := int(binary.LittleEndian.Uint32(head[9:]))
	raw := slices.Grow(s.spare[:0], n)[:n]
	s.spare = nil
	if _, err := io.ReadFull(s.in, raw); err != nil {
		s.ended = true
		return
	}
	p := spooled{vtime.Time(binary.LittleEndian.Uint64(head[:])), head[8] == 1, raw}
	if p.at < s.from {
		s.spare = raw
		return
	}
	i := len(s.ahead)
	for i > 0 && s.ahead[i-1].at > p.at {
		i--
	}
	s.ahead = slices.Insert(s.ahead, i, p)
}
