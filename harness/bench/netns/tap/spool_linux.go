package tap

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/capture"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// spool is the file of a tap while it is written.
type spool struct {
	place capture.Tap
	file  *os.File
	out   *bufio.Writer
	head  [spoolHead]byte
}

// spoolHead precedes each frame of a spool: run time in picoseconds, direction, length.
const spoolHead = 8 + 1 + 4

// spoolWrite is the number of bytes of a spool that are written at once. A kernel that is not preemptible does not
// release the processor until it has copied all of them: a megabyte takes milliseconds, by which the endpoints would be
// late.
const spoolWrite = 32 << 10

func newSpool(place capture.Tap, file *os.File) spool {
	return spool{place: place, file: file, out: bufio.NewWriterSize(file, spoolWrite)}
}

// write appends a frame.
func (s *spool) write(p *packetio.Packet) error {
	binary.LittleEndian.PutUint64(s.head[:], uint64(p.Time))
	s.head[8] = 0
	if p.Outgoing {
		s.head[8] = 1
	}
	binary.LittleEndian.PutUint32(s.head[9:], uint32(len(p.Data)))
	_, err := s.out.Write(s.head[:])
	if err == nil {
		_, err = s.out.Write(p.Data)
	}
	return s.spoilt(err)
}

// spoilt is the error of a spool that cannot be written or read.
func (s *spool) spoilt(err error) error {
	if err == nil {
		return nil
	}
	var path *os.PathError // names a file that has no name
	if errors.As(err, &path) {
		err = path.Err
	}
	return fmt.Errorf("netns: spool of tap %s in %s: %w; free some space or set TMPDIR", s.place, os.TempDir(), err)
}

// flush writes the buffered frames.
func (s *spool) flush() error { return s.spoilt(s.out.Flush()) }

// Source reads a spool back as captured frames, in the order of their times. The spool is nearly in this order: an
// arriving frame and the answer to it are captured on two processors, and the answer may reach the tap first.
type Source struct {
	in      *bufio.Reader
	head    [spoolHead]byte
	side    trace.Side
	dropped uint64
	zero    time.Time
	from    vtime.Time
	ahead   []spooled // by time
	spare   []byte    // of the frame returned last
	ended   bool
}

// spooled is a frame of a spool.
type spooled struct {
	at  vtime.Time
	out bool
	raw []byte
}

// readAhead is the number of frames by which a frame may be out of order.
const readAhead = 64

// source rewinds the spool. Frames have wall-clock times; the run began at from on the clock of the bench, and at zero
// on the wall. Earlier frames are left out.
func (s *spool) source(zero time.Time, from vtime.Time, dropped uint64) (*Source, error) {
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return nil, s.spoilt(err)
	}
	return &Source{in: bufio.NewReaderSize(s.file, 1<<20), side: s.place.Side, dropped: dropped,
		zero: zero, from: from}, nil
}

// Stats returns the losses of the tap, for the merger.
func (s *Source) Stats() capture.Stats { return capture.Stats{Dropped: s.dropped, Counted: true} }

// Next implements capture.Source.
func (s *Source) Next(f *capture.Frame) error {
	for len(s.ahead) < readAhead && !s.ended {
		s.read()
	}
	if len(s.ahead) == 0 {
		return io.EOF
	}
	next := s.ahead[0]
	s.ahead, s.spare = append(s.ahead[:0], s.ahead[1:]...), next.raw
	*f = capture.Frame{Wall: s.zero.Add(next.at.Sub(s.from).Std()), Raw: next.raw, Kept: len(next.raw), Tap: s.side,
		HasTap: true, Way: capture.Inward}
	if next.out {
		f.Way = capture.Outward
	}
	return nil
}

// read inserts one frame of the run in the order of times. A spool that was cut by a full disk ends there.
func (s *Source) read() {
	head := &s.head
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
