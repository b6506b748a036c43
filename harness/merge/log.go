package merge

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// LinkFate is what the emulated link says it did with one packet, for a link that keeps a log.
type LinkFate struct {
	At   vtime.Time // when the link took the packet
	From trace.Side
	Key  uint64 // ContentKey of the frame that it took
	Out  uint64 // ContentKey of the frame that it let go; zero: the same
	// Dropped, Corrupted or Delivered; a packet that was rewritten or marked on purpose is Delivered
	Fate   trace.Fate
	Due    vtime.Time     // when it was to arrive; not needed of a partial log
	Left   vtime.Time     // when the part of the link that the log is of let it go; zero: at once
	Copies int            // that it made
	Gap    vtime.Duration // each of them so long after the one before
	Cause  string         // who changed its fate; empty when nobody did
}

// ledger is what the log says of packets that have not been sent yet, by their bytes, in the order in which the link
// took them. Frames with the same bytes keep their order on the way to the link, so that the next of them to be sent is
// the next in the list.
type ledger map[uint64][]LinkFate

// newLedger sorts the log of the link, whose held-back packets come late in it.
func newLedger(list []LinkFate) ledger {
	l := ledger{}
	for _, e := range list {
		l[e.Key] = append(l[e.Key], e)
	}
	for _, of := range l {
		slices.SortStableFunc(of, func(a, b LinkFate) int {
			switch {
			case a.At < b.At:
				return -1
			case a.At > b.At:
				return 1
			}
			return 0
		})
	}
	return l
}

// tardy is how much earlier than it was sent, by another process's clock, the link may have taken a packet. An entry
// that is older is of one that the tap missed.
const tardy = vtime.Millisecond

// take returns the entry of a packet that has just been sent, nil when the log does not name it.
func (l ledger) take(f *flight) *LinkFate {
	list := l[f.key]
	for len(list) > 0 && list[0].At < f.Rec.Sent.Add(-tardy) {
		list = list[1:]
		l[f.key] = list
	}
	if len(list) == 0 {
		return nil
	}
	l[f.key] = list[1:]
	return &list[0]
}

// left counts the entries that fit no frame.
func (l ledger) left() (n uint64) {
	for _, list := range l {
		n += uint64(len(list))
	}
	return n
}

// account applies the entry of a packet that has just been sent. The packet is awaited with the bytes with which the
// link let it go.
func (m *merger) account(f *flight) {
	e := m.ledger.take(f)
	if e == nil {
		m.index.add(f)
		return
	}
	m.stats.Explored++
	f.cause, f.let, f.due, f.Rec.Cause = e.Cause, e.Left, e.Due, e.Cause
	if e.Fate == trace.Dropped {
		m.lose(f, trace.Dropped, e.Cause)
		return
	}
	if e.Out != 0 {
		f.key, f.altered, f.Rec.Fate = e.Out, true, e.Fate
	}
	m.index.add(f)
	if !m.told {
		return // what follows may lose copies, and is not on time
	}
	b := m.index.exact[f.key]
	for i := range e.Copies {
		b.copies = append(b.copies, expected{e.Due.Add(vtime.Duration(i+1) * e.Gap), f})
	}
}

// expected is a copy that the link has made.
type expected struct {
	due vtime.Time
	of  *flight
}

// next returns the packet that is due first of those with one content, or what it is a copy of, if it is one. Both are
// nil when none is to come by a time. A link lets its packets go in the order in which they are due.
func (b *bucket) next(by vtime.Time) (sent, original *flight) {
	at, due := -1, by
	for _, f := range b.waiting {
		if f.due < due || f.due == due && sent == nil {
			sent, due = f, f.due
		}
	}
	for i, c := range b.copies {
		if c.due < due || c.due == due && sent == nil && at < 0 {
			at, due = i, c.due
		}
	}
	if at < 0 {
		return sent, nil
	}
	original = b.copies[at].of
	b.copies = slices.Delete(b.copies, at, at+1)
	return nil, original
}

// rounding is how much earlier than it happened a time stamp may be.
const rounding = vtime.Nanosecond

// foretold settles an arrival by the log of the link, and reports whether that names it.
func (m *merger) foretold(b *bucket, f *flight) bool {
	sent, original := b.next(m.now.Add(rounding))
	switch {
	case sent != nil:
		f.Rec.Recv = m.now
		m.settle(sent, f)
		m.free = append(m.free, f)
	case original != nil:
		f.keepBytes()
		f.Rec.Recv, f.settled, f.inOrder = m.now, true, true
		m.order.Push(f)
		m.copied(f, original)
	default:
		return false
	}
	return true
}

// foreseen settles an arrival that waits for an explanation, if the log names one that was due by a time.
func (m *merger) foreseen(f *flight, by vtime.Time) bool {
	b := m.index.exact[f.key]
	if b == nil {
		return false
	}
	sent, original := b.next(by)
	switch {
	case sent != nil:
		f.dead = true
		m.settle(sent, f)
	case original != nil:
		m.copied(f, original)
	default:
		return false
	}
	f.settled = true
	return true
}
