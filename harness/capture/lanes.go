package capture

import (
	"errors"
	"io"
	"iter"
	"slices"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Lanes puts the frames of several sources into one order of time. A source that fails ends; the first error is kept
// for the end.
type Lanes struct {
	list []*Lane
	cur  *Lane // whose frame was returned last
	at   func(*Frame) vtime.Time
	step vtime.Duration // by which a frame is later than the one before it at least
	err  error
}

// Lane is one source with its next frame.
type Lane struct {
	Frame Frame
	At    vtime.Time // of Frame; Never when the source has ended
	Last  vtime.Time // of the frame before

	Index  int           // of the source
	Behind time.Duration // by how much a frame had an earlier time stamp than one before it, at most
	Late   int           // how many frames had

	src    Source
	newest time.Time
}

// NewLanes puts sources in order by their wall-clock times, of which zero is vtime 0; without a zero that of the first
// frame is. Frames of one time stamp are a picosecond apart: the order in which a tap saw them is that in which its
// endpoint did, whatever the order in which they left.
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

// newLanes reads the first frame of every source. Times are those that at gives.
func newLanes(sources []Source, at func(*Frame) vtime.Time) *Lanes {
	l := &Lanes{at: at}
	for i, src := range sources {
		n := &Lane{src: src, Index: i}
		l.list = append(l.list, n)
		l.fill(n)
	}
	return l
}

// Each yields the lanes, whose sources need not have ended.
func (l *Lanes) Each() iter.Seq[*Lane] { return slices.Values(l.list) }

// fill reads the next frame of a lane. Captures of several queues step back by microseconds; the lane does not.
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
		n.Late, n.Behind = n.Late+1, max(n.Behind, n.newest.Sub(w))
	} else {
		n.newest = w
	}
}

// Next returns the lane with the earliest frame, which is valid until the next call; nil at the end. Frames of one time
// go by the records that they belong to, if that is known.
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

// Err returns the first error of any source, but for its end.
func (l *Lanes) Err() error { return l.err }

// since turns wall-clock times into times of a run that began at zero.
func since(zero time.Time) func(*Frame) vtime.Time {
	return func(f *Frame) vtime.Time {
		return vtime.Time(max(0, vtime.FromStd(f.Wall.Sub(zero))))
	}
}
