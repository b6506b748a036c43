package trace

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// FrameSource yields captured frames in time order, and io.EOF at the end. A Capture is one.
type FrameSource interface {
	Next(f *Frame) error
}

// AtTap is a source all of whose frames were seen at one side, whatever their interface is called.
type AtTap struct {
	FrameSource
	Side Side
}

// Next implements FrameSource.
func (t AtTap) Next(f *Frame) error {
	err := t.FrameSource.Next(f)
	f.Tap, f.HasTap = t.Side, true
	return err
}

// Stats returns those of the source when it has some.
func (t AtTap) Stats() CaptureStats { return statsOf(t.FrameSource) }

// statsOf returns the counts of a source that keeps any.
func statsOf(s FrameSource) CaptureStats {
	if c, ok := s.(interface{ Stats() CaptureStats }); ok {
		return c.Stats()
	}
	return CaptureStats{}
}

// lanes merges sources by time. A source that fails ends; the first error is kept for the end.
type lanes struct {
	list []*lane
	cur  *lane // whose frame was returned last
	at   func(*Frame) vtime.Time
	step vtime.Duration // by which a frame is later than the one before it at least
	err  error
}

// lane is one source with its next frame.
type lane struct {
	src   FrameSource
	frame Frame
	at    vtime.Time // of frame; Never when the source has ended
	last  vtime.Time // of the frame before
}

// newLanes reads the first frame of every source. Times are those that at gives.
func newLanes(sources []FrameSource, at func(*Frame) vtime.Time) *lanes {
	l := &lanes{at: at}
	for _, src := range sources {
		n := &lane{src: src}
		l.list = append(l.list, n)
		l.fill(n)
	}
	return l
}

// fill reads the next frame of a lane. Captures of several queues step back by microseconds; the lane does not.
func (l *lanes) fill(n *lane) {
	n.last = n.at
	if err := n.src.Next(&n.frame); err != nil {
		n.at = vtime.Never
		if !errors.Is(err, io.EOF) && l.err == nil {
			l.err = err
		}
		return
	}
	n.at = max(n.last.Add(l.step), l.at(&n.frame))
}

// next returns the lane with the earliest frame, which is valid until the next call; nil at the end. Frames of one time
// go by the records that they belong to, if that is known.
func (l *lanes) next() *lane {
	if l.cur != nil {
		l.fill(l.cur)
	}
	l.cur = nil
	for _, n := range l.list {
		if n.at == vtime.Never {
			continue
		}
		if c := l.cur; c == nil || n.at < c.at || n.at == c.at && n.frame.note.index < c.frame.note.index {
			l.cur = n
		}
	}
	return l.cur
}

// wallLanes merges sources by their wall-clock times. Without a zero the first frame is at zero. Frames of one time stamp are a
// picosecond apart: the order in which a tap saw them is that in which its endpoint did, whatever the order in which they left.
func wallLanes(sources []FrameSource, zero time.Time) *lanes {
	l := newLanes(sources, func(*Frame) vtime.Time { return 0 })
	if zero.IsZero() {
		zero = l.earliest()
	}
	l.at, l.step = since(zero), 1
	for _, n := range l.list {
		if n.at != vtime.Never {
			n.at = l.at(&n.frame)
		}
	}
	return l
}

// earliest returns the earliest time stamp among the next frames.
func (l *lanes) earliest() (t time.Time) {
	for _, n := range l.list {
		if n.at != vtime.Never && (t.IsZero() || n.frame.Wall.Before(t)) {
			t = n.frame.Wall
		}
	}
	return t
}

// since turns wall-clock times into times of a run that began at zero.
func since(zero time.Time) func(*Frame) vtime.Time {
	return func(f *Frame) vtime.Time {
		return vtime.Time(max(0, vtime.FromStd(f.Wall.Sub(zero))))
	}
}

// take fills in what the frame shows, and returns the headers below the packet. Of a frame that the capture cut, the
// headers count as far as they go; its payload and ICRC were not seen.
func (r *Record) take(f *Frame) roce.Frame {
	r.Raw = f.Raw
	headers := r.observe()
	if f.Kept >= len(f.Raw) {
		return headers
	}
	end, _, ok := roce.FieldSpan(f.Raw, "payload")
	if !ok {
		end, _, ok = roce.FieldSpan(f.Raw, "icrc")
	}
	if !ok || end > f.Kept {
		r.Defect = fmt.Sprintf("capture: %d of %d bytes kept", f.Kept, len(f.Raw))
	}
	r.Raw, r.Packet.Payload, r.Sum, r.ICRC = nil, nil, 0, Unchecked
	return headers
}
