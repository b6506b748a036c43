package netns

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// tap watches one endpoint's device, both directions, and spools every RoCEv2 frame to a file. It runs on a thread of
// its own; the spool is turned into pcapng once it is known what became of each frame.
type tap struct {
	side   trace.Side
	port   *packetio.Port
	clock  *packetio.Clock
	file   *os.File
	out    *bufio.Writer
	frames uint64
	stop   atomic.Bool
	done   chan error
}

// spoolHead precedes each frame of a spool: run time in picoseconds, direction, length.
const spoolHead = 8 + 1 + 4

// openTap opens the device, which is in the namespace n, and begins to spool to file.
func openTap(n *Namespace, side trace.Side, device string, clock *packetio.Clock, file *os.File) (*tap, error) {
	t := &tap{side: side, clock: clock, file: file, out: bufio.NewWriterSize(file, 1<<20), done: make(chan error, 1)}
	err := n.Do(func() (err error) {
		t.port, err = packetio.Open(device, clock, packetio.Options{Outgoing: true, RoCE: true, Buffer: 64 << 20})
		return err
	})
	if err != nil {
		return nil, err
	}
	go func() { t.done <- t.run() }()
	return t, nil
}

// run spools until it is told to stop and nothing waits any more.
func (t *tap) run() error {
	if err := packetio.LockThread(); err != nil {
		return err
	}
	wait := packetio.NewWaiter(t.clock, t.port.Fd())
	for {
		frames, err := t.port.Receive()
		if err != nil {
			return err
		}
		for i := range frames {
			if err := t.spool(&frames[i]); err != nil {
				return err
			}
		}
		if len(frames) > 0 {
			continue
		}
		if t.stop.Load() {
			return nil
		}
		if err := wait.Wait(t.clock.Now().Add(20 * vtime.Millisecond)); err != nil {
			return err
		}
	}
}

func (t *tap) spool(p *packetio.Packet) error {
	var head [spoolHead]byte
	binary.LittleEndian.PutUint64(head[:], uint64(p.Time))
	if p.Outgoing {
		head[8] = 1
	}
	binary.LittleEndian.PutUint32(head[9:], uint32(len(p.Data)))
	t.frames++
	_, err := t.out.Write(head[:])
	if err == nil {
		_, err = t.out.Write(p.Data)
	}
	if err != nil {
		return fmt.Errorf("netns: spool of tap %s: %w", t.side, err)
	}
	return nil
}

// close ends the tap and returns how many frames the kernel dropped because the tap was too slow.
func (t *tap) close() (dropped uint64, err error) {
	t.stop.Store(true)
	err = <-t.done
	counts, countErr := t.port.Counts()
	return counts.Dropped, errors.Join(err, countErr, t.out.Flush(), t.port.Close())
}

// spoolReader reads a spool back as captured frames. Times before zero, which is when the run began, are those of
// probes, and left out.
type spoolReader struct {
	in   *bufio.Reader
	side trace.Side
	zero time.Time
	from vtime.Time
	raw  []byte
	lost uint64
}

// source rewinds the spool. Frames carry wall-clock times; the run began at from on the
// clock of the bench, and at zero on the wall. The tap lost so many frames.
func (t *tap) source(zero time.Time, from vtime.Time, lost uint64) (*spoolReader, error) {
	if _, err := t.file.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("netns: spool of tap %s: %w", t.side, err)
	}
	return &spoolReader{in: bufio.NewReaderSize(t.file, 1<<20), side: t.side, zero: zero, from: from, lost: lost}, nil
}

// Stats tells the merger what the tap lost.
func (s *spoolReader) Stats() trace.CaptureStats { return trace.CaptureStats{Dropped: s.lost} }

// Next implements trace.FrameSource.
func (s *spoolReader) Next(f *trace.Frame) error {
	for {
		var head [spoolHead]byte
		if _, err := io.ReadFull(s.in, head[:]); err != nil {
			return err
		}
		n := int(binary.LittleEndian.Uint32(head[9:]))
		if cap(s.raw) < n {
			s.raw = make([]byte, n)
		}
		s.raw = s.raw[:n]
		if _, err := io.ReadFull(s.in, s.raw); err != nil {
			return err
		}
		at := vtime.Time(binary.LittleEndian.Uint64(head[:]))
		if at < s.from {
			continue
		}
		*f = trace.Frame{Wall: s.zero.Add(at.Sub(s.from).Std()), Raw: s.raw, Kept: n, Tap: s.side, HasTap: true, Way: trace.Inward}
		if head[8] == 1 {
			f.Way = trace.Outward
		}
		return nil
	}
}
