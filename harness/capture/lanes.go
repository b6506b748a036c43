package capture

import (
	"errors"
	"io"
	"iter"
	"slices"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Lanes merges the frames of several sources in time order. A source that fails ends; Err returns the first error.
type Lanes struct {
	list []*Lane
	cur  *Lane // lane of the frame returned last
	at   func(*Frame) vtime.Time
	step vtime.Duration // least time between two frames of a lane
	err  error
}

// Lane is one source with its next frame.
type Lane struct {
	Frame Frame
	At    vtime.Time // time of Frame; Never when the source has ended
	Last  vtime.Time // time of the previous frame

	Index  int           // index of the source
	Behind time.Duration // most by which the time stamp of a frame preceded that of an earlier frame
	Late   int           // frames with a time stamp that precedes that of an earlier frame
	Back   bool          // setBack frames in a row have been late by backLeast or more

	row    int // frames in a row that are late
	src    Source
	newest time.Time
}

// NewLanes merges sources by their wall-clock times. Zero is the wall-clock time of vtime 0, by default that of the
// first frame. Frames of one tap with equal time stamps get times a picosecond apart, because the tap saw them in the
// order in which its endpoint did.
func NewLanes(sources []Source, zero time.Time) *Lanes {
	l := newLanes(sources, func(*Frame) vtime.Time { return 0 })
	if zero.IsZero() {
		zero = l.earliest()
	}
	l.at, l.step = since(zero), 1
	for _, n := range l.list {
		if n.At != vtime.Never {
			n.At = l.at(&n.Frame)
		}
	}
	return l
}

// newLanes reads the first frame of every source; at returns the time of a frame.
func newLanes(sources []Source, at func(*Frame) vtime.Time) *Lanes {
	l := &Lanes{at: at}
	for i, src := range sources {
		n := &Lane{src: src, Index: i}
		l.list = append(l.list, n)
		l.fill(n)
	}
	return l
}

// Each yields the lanes, also of sources that have not ended.
func (l *Lanes) Each() iter.Seq[*Lane] { return slices.Values(l.list) }

// fill reads the next frame of a lane. Time stamps of captures from several queues may step back by microseconds; the
// times of the lane do not.
func (l *Lanes) fill(n *Lane) {
	n.Last = n.At
	if err := n.src.Next(&n.Frame); err != nil {
		n.At = vtime.Never
		if !errors.Is(err, io.EOF) && l.err == nil {
			l.err = err
		}
		return
	}
	n.At = max(n.Last.Add(l.step), l.at(&n.Frame))
	if w := n.Frame.Wall; w.Before(n.newest) {
		by := n.newest.Sub(w)
		n.row++
		n.Late, n.Behind, n.Back = n.Late+1, max(n.Behind, by), n.Back || n.row >= setBack && by >= backLeast
	} else {
		n.newest, n.row = w, 0
	}
}

// Signs of a clock that was set back, or of files that were joined: several queues put a few frames out of order, and
// by less.
const (
	setBack   = 8
	backLeast = 20 * time.Microsecond
)

// Next returns the lane with the earliest frame, which is valid until the next call; nil at the end. Frames of equal
// times are in the order of their records, if their notes have it.
func (l *Lanes) Next() *Lane {
	if l.cur != nil {
		l.fill(l.cur)
	}
	l.cur = nil
	for _, n := range l.list {
		if n.At == vtime.Never {
			continue
		}
		if c := l.cur; c == nil || n.At < c.At || n.At == c.At && n.Frame.note.index < c.Frame.note.index {
			l.cur = n
		}
	}
	return l.cur
}

// earliest returns the earliest time stamp among the next frames.
func (l *Lanes) earliest() (t time.Time) {
	for _, n := range l.list {
		if n.At != vtime.Never && (t.IsZero() || n.Frame.Wall.Before(t)) {
			t = n.Frame.Wall
		}
	}
	return t
}

// Err returns the first error of any source other than io.EOF.
func (l *Lanes) Err() error { return l.err }

// since returns a function from the wall-clock time of a frame to the time of a run that began at zero. It subtracts
// seconds and nanoseconds itself, because time.Time.Sub takes several times as long.
func since(zero time.Time) func(*Frame) vtime.Time {
	const far = 1 << 33 // seconds; beyond the end of vtime
	begin, part := zero.Unix(), zero.Nanosecond()
	return func(f *Frame) vtime.Time {
		seconds := time.Duration(max(-1, min(f.Wall.Unix()-begin, far)))
		return vtime.Time(max(0, vtime.FromStd(seconds*time.Second+time.Duration(f.Wall.Nanosecond()-part))))
	}
}
