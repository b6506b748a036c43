package merge

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// LinkFate is the entry of one packet in the log of an emulated link.
type LinkFate struct {
	At   vtime.Time // when the link took the packet
	From trace.Side
	Key  uint64 // ContentKey of the frame that it took
	Out  uint64 // ContentKey of the frame as it left the link; zero: the same
	// Dropped, Corrupted or Delivered; a packet that was rewritten or marked on purpose is Delivered
	Fate   trace.Fate
	Due    vtime.Time     // time at which it was to arrive; not needed in a partial log
	Left   vtime.Time     // time at which it left the part of the link that keeps the log; zero: at once
	Copies int            // copies that the link made
	Gap    vtime.Duration // from each copy to the one after it, and from the packet to its first copy
	Cause  string         // the impairment that changed its fate; empty for none
}

// ledger holds the log entries of packets that have not been sent yet, by content key, each list in the order in which
// the link took them. Frames with the same bytes keep their order on the way to the link, so the next of them to be
// sent has the first entry of the list.
type ledger map[uint64][]LinkFate

// newLedger sorts the log of the link by At: the entries of held-back packets come late in the log.
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

// tardy is the most by which the time at which the link took a packet may precede the time at which it was sent, as
// another process read the clock. An older entry belongs to a packet that the tap missed.
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

// left counts the entries that matched no frame.
func (l ledger) left() (n uint64) {
	for _, list := range l {
		n += uint64(len(list))
	}
	return n
}

// account applies the entry of a packet that has just been sent. The packet is awaited with the bytes with which it
// left the link.
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
		return // the rest of the link may lose copies and delays them
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

// next returns the packet of the bucket with the earliest due time, as sent, or, if that is a copy, its original. Both
// are nil when none is due by a time. A link releases packets in the order of their due times.
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

// rounding is the most by which a time stamp may precede its event.
const rounding = vtime.Nanosecond

// foretold settles an arrival by the log of the link, and reports whether the log names it.
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

// foreseen settles an arrival in early, if the log names a packet with its bytes that was due by a time.
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
