package trace

import (
	"container/heap"

	"github.com/rdma-gauntlet/gauntlet/harness/internal/ring"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Timeline is a Sink that turns records into sights and passes them, with the events, to a Viewer in time order.
//
// A record gives a sight at the sender's tap when it was sent and one at the receiver's tap when it was received, if
// those taps exist. The earlier sight is shown at once; the later one waits until the stream reaches its time, so
// memory grows with the packets in flight.
//
// At equal times, waiting sights come before new records and events: an arrival precedes the completion and the packets
// that it causes. The exception is a copy. Its place in the stream is its arrival, but the link made it when it took
// the original, and delivers it before all packets that it took later. Otherwise the order is that of the stream.
//
// A Sight, its Rec, Pkt and Raw are valid during the call only. The record of a waiting sight is a copy, unless its
// owner has given a Lease, so Rec need not be the same pointer in both calls; Index identifies the packet.
type Timeline struct {
	view    Viewer
	taps    [2]bool
	between bool
	index   uint64
	last    vtime.Time
	// waiting sights that were added in time order, by sender: a link without reordering needs no heap
	inOrder [2]ring.Ring[slot]
	late    waiting // the other waiting sights
	free    []*slot
	sight   Sight
	lease   *Lease // lease of the records passed at present; nil when they have to be copied
}

// NewTimeline returns a timeline of a trace with header h.
func NewTimeline(h *Header, v Viewer) *Timeline {
	return &Timeline{view: v, taps: h.Taps, between: h.Between}
}

// Borrow declares that records passed from now on stay valid until the lease is zero again, so that they need not be
// copied while they wait. Borrow(nil) ends that.
func (t *Timeline) Borrow(l *Lease) { t.lease = l }

// Packet implements Sink.
func (t *Timeline) Packet(r *Record) {
	now := r.Time()
	if r.Copy {
		t.releaseAhead(r)
	} else {
		t.release(now)
	}
	out, in := t.sees(r, true), t.sees(r, false)
	index := t.index
	t.index++
	// A record sent and received at one instant is sent first.
	outFirst := r.Sent <= r.Recv
	if out && outFirst {
		t.show(r, index, true)
	}
	if in && r.Recv == now {
		t.show(r, index, false)
	} else if in {
		t.wait(r, index, r.Recv, false)
	}
	if out && !outFirst {
		t.wait(r, index, r.Sent, true)
	}
}

// sees reports whether a tap saw r leave (out) or arrive. A copy was made on the way: only the original left. A tap
// between the sides shows every packet as leaving its sender.
func (t *Timeline) sees(r *Record, out bool) bool {
	if t.between {
		return out && r.Sent != vtime.Never
	}
	if out {
		return r.Sent != vtime.Never && !r.Copy && t.taps[r.From&1]
	}
	return r.Recv != vtime.Never && t.taps[r.From&1^1]
}

// Event implements Sink.
func (t *Timeline) Event(e *Event) {
	t.release(e.At)
	t.last = e.At
	t.view.Event(e)
}

// End implements Sink. A packet that would arrive after the end was still in flight: it was not received.
func (t *Timeline) End(at vtime.Time) {
	t.release(at)
	t.view.End(max(at, t.last))
}

// release shows every waiting sight that is not later than now.
func (t *Timeline) release(now vtime.Time) {
	for s := t.next(now); s != nil; s = t.next(now) {
		t.showWaiting(s)
	}
}

// releaseAhead shows the waiting sights that precede copy r: those of earlier times and, of its own time, those up to
// its original. A packet that was sent before the original and arrives at the same time as the copy, because others
// overtook it, should precede it too, but cannot be recognised.
func (t *Timeline) releaseAhead(r *Record) {
	t.release(r.Time() - 1)
	for o := t.original(r); o != nil; {
		s := t.next(o.at)
		t.showWaiting(s)
		if s == o {
			return
		}
	}
}

// original returns the packet of which r is a copy, if its sight waits for the same time, as on a link of unlimited
// rate; otherwise nil.
func (t *Timeline) original(r *Record) *slot {
	at, q := r.Time(), &t.inOrder[r.From&1]
	for i := 0; i < q.Len() && q.At(i).at == at; i++ {
		if q.At(i).originalOf(r) {
			return q.At(i)
		}
	}
	if len(t.late) == 0 || t.late[0].at > at {
		return nil
	}
	for _, s := range t.late {
		if s.at == at && s.originalOf(r) {
			return s
		}
	}
	return nil
}

// next removes the earliest waiting sight, or returns nil when it is later than now.
func (t *Timeline) next(now vtime.Time) *slot {
	best, from := t.inOrder[A].First(), &t.inOrder[A]
	if s := t.inOrder[B].First(); s.before(best) {
		best, from = s, &t.inOrder[B]
	}
	if len(t.late) > 0 && t.late[0].before(best) {
		if t.late[0].at > now {
			return nil
		}
		return heap.Pop(&t.late).(*slot)
	}
	if best == nil || best.at > now {
		return nil
	}
	from.Drop()
	return best
}

// wait keeps r until the time of its second sight.
func (t *Timeline) wait(r *Record, index uint64, at vtime.Time, out bool) {
	s := t.slot()
	s.at, s.index, s.out = at, index, out
	s.hold(r, t.lease)
	q := &t.inOrder[r.From&1]
	if tail := q.Last(); tail != nil && s.before(tail) {
		heap.Push(&t.late, s)
		return
	}
	q.Push(s)
}

// slot returns a free slot, with buffers to reuse, or a new one.
func (t *Timeline) slot() *slot {
	n := len(t.free)
	if n == 0 {
		return &slot{}
	}
	s := t.free[n-1]
	t.free = t.free[:n-1]
	return s
}

// showWaiting shows a sight whose time has come.
func (t *Timeline) showWaiting(s *slot) {
	t.show(s.rec, s.index, s.out)
	s.free()
	t.free = append(t.free, s)
}

// show passes a sight, which it builds in place, to the viewer; the viewer must not keep it.
func (t *Timeline) show(r *Record, index uint64, out bool) {
	s := &t.sight
	s.Out, s.Rec, s.Index = out, r, index
	switch {
	case out:
		s.At, s.Tap = r.Sent, r.From
	default:
		s.At, s.Tap = r.Recv, r.From.Other()
	}
	if c := r.Changed; c != nil && !out {
		s.Pkt, s.ICRC, s.Sum, s.Raw = &c.Packet, c.ICRC, c.Sum, c.Raw
	} else {
		s.Pkt, s.ICRC, s.Sum, s.Raw = &r.Packet, r.ICRC, r.Sum, r.Raw
	}
	t.last = s.At
	t.view.Sight(s)
}
