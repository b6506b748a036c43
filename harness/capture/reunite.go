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

// reunion puts the records of our own captures together again. The note of every frame says all about its record except
// the bytes at the other tap, so only a changed packet has to wait for its second frame.
type reunion struct {
	yield   func(index uint64, r *trace.Record) bool
	done    bool // nobody wants more
	taps    [2]bool
	queue   ring.Ring[held] // records in order, from the first that waits
	free    []*held
	rec     trace.Record
	headers roce.Frame // of the latest frame
	end     vtime.Time
	turns   map[place]turn
	zero    time.Time // wall-clock time of the run's time 0, by the first frame; zero before that
}

// place is a tap of a run: one for each side of each hop.
type place struct {
	side trace.Side
	hop  trace.Hop
}

// turn is which capture shows a tap. A run has one at a time; a capture that was divided has the next begin where one
// ends.
type turn struct {
	source int   // of the latest frame
	past   []int // sources before it
}

// ErrTwoRuns is the error of captures that began at different times, or that show one tap at the same times: of several
// runs, or the same capture twice.
var ErrTwoRuns = errors.New("these are captures of two runs, or one capture twice; judge them one by one")

// sameRun is how far apart the times may be that the taps of one run take for its time 0: they are written from one,
// and other programs round to microseconds.
const sameRun = 2 * time.Microsecond

// held is a record that waits for its second frame, or for those before it.
type held struct {
	trace.Kept
	index uint64
	out   bool       // its first frame was seen where it left
	due   vtime.Time // when its second frame is seen; zero when it waits for none
}

// Reunite calls yield with the records of noted captures and their positions in the stream, until it returns false. It
// returns the time of the last frame. The error is ErrTwoRuns where captures are not of one run.
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

// inTurn reports whether a source may show a frame of a tap: another one has not begun to since it did.
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

// began reports whether a frame is of the run that the first one is of, by the time at which that began.
func (r *reunion) began(f *Frame) bool {
	zero := f.Wall.Add(-f.note.at().Sub(0).Std())
	if r.zero.IsZero() {
		r.zero = zero
	}
	return zero.Sub(r.zero).Abs() < sameRun
}

// frame takes the first frame of a record, or the second of a changed one.
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

// start queues a record, or hands it on when nothing waits.
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

// oneTap leaves of a record what one tap alone can say, as of any capture.
func oneTap(rec *trace.Record, out bool) {
	rec.Fate, rec.Cause = trace.Unknown, ""
	if out {
		rec.Recv = vtime.Never
	} else {
		rec.Sent = vtime.Never
	}
}

// complete adds the form at the other tap. The first frame gave the form at its own tap, as if it were the one sent.
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

// flush hands on what waits no longer: its second frame has come, or its time has passed.
func (r *reunion) flush(now vtime.Time) {
	for s := r.queue.First(); s != nil && s.due < now; s = r.queue.First() {
		r.emit(s.index, &s.Rec)
		r.queue.Drop()
		r.free = append(r.free, s)
	}
}

// emit hands on a record as long as someone wants more.
func (r *reunion) emit(index uint64, rec *trace.Record) {
	if !r.done {
		r.done = !r.yield(index, rec)
	}
}
