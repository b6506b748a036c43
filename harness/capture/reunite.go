package capture

import (
	"errors"
	"slices"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/internal/ring"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// reunion restores records from captures with notes. The note of a frame has all fields of its record except the bytes
// at the other tap, so only a changed packet waits for its second frame.
type reunion struct {
	yield   func(index uint64, r *trace.Record) bool
	done    bool // yield returned false
	taps    [2]bool
	queue   ring.Ring[held] // records in order, from the first that waits on
	free    []*held
	rec     trace.Record
	headers roce.Frame // headers of the latest frame
	end     vtime.Time
	turns   map[place]turn
	zero    time.Time // wall-clock time of vtime 0, from the first frame; zero before it
}

// place identifies a tap of a run: one side of one hop.
type place struct {
	side trace.Side
	hop  trace.Hop
}

// turn is the source that shows a tap at present. When the capture of a tap was split, each source begins where the one
// before ends.
type turn struct {
	source int   // source of the latest frame
	past   []int // sources before it, which have ended
}

// ErrTwoRuns is the error for captures that began at different times, or that show one tap at the same times: they are
// of several runs, or the same capture twice.
var ErrTwoRuns = errors.New("these are captures of two runs, or one capture twice; judge them one by one")

// sameRun bounds the difference between the wall-clock times of vtime 0 in the captures of one run. They are written
// with one value, but other programs may have rounded time stamps to microseconds.
const sameRun = 2 * time.Microsecond

// held is a record that waits for its second frame, or for the records before it.
type held struct {
	trace.Kept
	index uint64
	out   bool       // its first frame is from the sender's tap
	due   vtime.Time // time of its second frame; zero when it waits for none
}

// Reunite calls yield with the records of noted captures and their positions in the stream, until it returns false. It
// returns the time of the last frame. The error is ErrTwoRuns when the captures are not of one run.
func Reunite(h *trace.Header, sources []Source, yield func(uint64, *trace.Record) bool) (vtime.Time, error) {
	l := newLanes(sources, func(f *Frame) vtime.Time { return f.note.at() })
	r := &reunion{yield: yield, taps: h.Taps, turns: map[place]turn{}}
	for n := l.Next(); n != nil && !r.done; n = l.Next() {
		if n.Frame.noted && n.Frame.HasTap {
			if !r.inTurn(place{n.Frame.Tap, h.On(n.Frame.note.conn)}, n.Index) || !r.began(&n.Frame) {
				return r.end, ErrTwoRuns
			}
			r.frame(&n.Frame)
			r.flush(n.At)
		}
	}
	r.flush(vtime.Never)
	return r.end, l.Err()
}

// inTurn reports whether a source may show a frame of a tap: no other source has begun to show the tap since.
func (r *reunion) inTurn(at place, source int) bool {
	t, seen := r.turns[at]
	switch {
	case seen && t.source == source:
		return true
	case slices.Contains(t.past, source):
		return false
	case seen:
		t.past = append(t.past, t.source)
	}
	t.source = source
	r.turns[at] = t
	return true
}

// began reports whether a frame is of the same run as the first frame, by the wall-clock time of vtime 0.
func (r *reunion) began(f *Frame) bool {
	zero := f.Wall.Add(-f.note.at().Sub(0).Std())
	if r.zero.IsZero() {
		r.zero = zero
	}
	return zero.Sub(r.zero).Abs() < sameRun
}

// frame processes the first frame of a record, or the second frame of a changed one.
func (r *reunion) frame(f *Frame) {
	n := &f.note
	r.end = max(r.end, n.at())
	if r.first(n) {
		r.start(f)
		return
	}
	if !n.changed {
		return
	}
	for i := range r.queue.Len() {
		s := r.queue.At(i)
		if s.index == n.index {
			s.complete(f)
			return
		}
	}
}

// first reports whether no tap saw the record earlier.
func (r *reunion) first(n *note) bool {
	switch {
	case !r.taps[trace.A] || !r.taps[trace.B] || n.copied || n.sent == vtime.Never || n.recv == vtime.Never:
		return true
	case n.out:
		return n.sent <= n.recv
	}
	return n.recv < n.sent
}

// start queues a record, or yields it when no record waits.
func (r *reunion) start(f *Frame) {
	n, rec := &f.note, &r.rec
	*rec = trace.Record{}
	f.Fill(rec, &r.headers)
	rec.From = f.Tap
	if !n.out {
		rec.From = f.Tap.Other()
	}
	rec.Sent, rec.Recv, rec.Fate, rec.Copy, rec.Cause = n.sent, n.recv, n.fate, n.copied, n.cause
	rec.Conn, rec.WireBytes = n.conn, n.wire
	waits := n.changed && r.taps[trace.A] && r.taps[trace.B]
	if !r.taps[trace.A] || !r.taps[trace.B] {
		oneTap(rec, n.out)
	}
	if !waits && r.queue.Len() == 0 {
		r.emit(n.index, rec)
		return
	}
	s := &held{}
	if k := len(r.free); k > 0 {
		s, r.free = r.free[k-1], r.free[:k-1]
	}
	s.Keep(rec)
	s.index, s.out, s.due = n.index, n.out, 0
	if waits {
		s.due = max(n.sent, n.recv)
	}
	r.queue.Push(s)
}

// oneTap removes from a record the fields that one tap alone does not show.
func oneTap(rec *trace.Record, out bool) {
	rec.Fate, rec.Cause = trace.Unknown, ""
	if out {
		rec.Recv = vtime.Never
	} else {
		rec.Sent = vtime.Never
	}
}

// complete adds the form at the other tap. The first frame set the form at its own tap as the sent form.
func (s *held) complete(f *Frame) {
	var other trace.Record
	f.Fill(&other, &roce.Frame{})
	first := s.Rec
	if !s.out {
		other, first = first, other
	}
	sent := s.Rec
	sent.Packet, sent.Sum, sent.ICRC, sent.Raw, sent.Defect = first.Packet, first.Sum, first.ICRC,
		first.Raw, first.Defect
	change := other.AsChange()
	sent.Changed = &change
	s.Keep(sent.Clone())
	s.due = 0
}

// flush yields the records at the head of the queue whose second frame has come or is overdue.
func (r *reunion) flush(now vtime.Time) {
	for s := r.queue.First(); s != nil && s.due < now; s = r.queue.First() {
		r.emit(s.index, &s.Rec)
		r.queue.Drop()
		r.free = append(r.free, s)
	}
}

// emit yields a record, unless yield has returned false.
func (r *reunion) emit(index uint64, rec *trace.Record) {
	if !r.done {
		r.done = !r.yield(index, rec)
	}
}
