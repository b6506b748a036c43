package merge

import (
	"cmp"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// strange decides about an arrival whose bytes nobody sent.
func (m *merger) strange(f *flight) {
	if m.told && m.foreseen(f, vtime.Never) { // before it was due, by the clock of the link
		return
	}
	f.settled = true
	from := f.Rec.From
	sent, original := m.damagedOf(f), (*flight)(nil)
	if sent == nil {
		if sent = m.choose(m.index.like(f.loose), f.Rec.Recv, nil); sent == nil && f.Rec.ICRC != trace.Good {
			original = m.closest(f, m.similar(f, true))
		}
	}
	switch {
	case sent != nil:
		m.change(sent, f)
		f.dead = true
	case original != nil:
		m.copied(f, original)
	case m.gapNear(from, f.Rec.Recv.Add(-m.window), f.Rec.Recv):
		f.Rec.Fate, f.Rec.Cause = trace.Unknown, causeCapture
	default:
		f.Rec.Fate = trace.Injected
	}
}

// similarBytes is how many bytes a corrupted frame may differ in to be recognised.
const similarBytes = 8

// damagedOf finds the packet in flight that was damaged on the way, nil when f does not look damaged or like none. What
// differs in one byte from a packet with its own numbers is that one. Else all are compared: damage in the very fields
// that identify a packet may give it the numbers of another.
func (m *merger) damagedOf(f *flight) *flight {
	if f.Rec.ICRC == trace.Good {
		return nil
	}
	if best, bytes := nearest(f, m.index.like(f.loose)); best != nil && bytes == 1 {
		return m.closest(f, m.index.like(f.loose))
	}
	return m.closest(f, m.similar(f, false))
}

// similar lists the frames of the length of f that are in flight, or those that have arrived. It is for a frame that
// nothing else explains.
func (m *merger) similar(f *flight, arrived bool) (list []*flight) {
	for i := range m.sent.Len() {
		o := m.sent.At(i)
		if o.matched == arrived && o.settled == arrived {
			list = append(list, o)
		}
	}
	return list
}

// nearest returns the first of the frames with the least difference to f that can have become it, and how many bytes
// that is; nil when all differ in more than similarBytes.
func nearest(f *flight, list []*flight) (best *flight, least int) {
	least = similarBytes + 1
	for _, o := range list {
		if o.Rec.Sent > f.Rec.Recv || o.Rec.From != f.Rec.From || len(o.Rec.Raw) != len(f.Rec.Raw) {
			continue
		}
		if d := differing(o.Rec.Raw, f.Rec.Raw, least); d < least {
			best, least = o, d
		}
	}
	return best, least
}

// closest is nearest; of frames with equal bytes it returns the one that is to arrive next, or the first that has
// arrived.
func (m *merger) closest(f *flight, list []*flight) *flight {
	best, _ := nearest(f, list)
	if best == nil || best.matched {
		return best
	}
	if b := m.index.exact[best.key]; b != nil {
		return cmp.Or(m.choose(b.waiting, f.Rec.Recv, nil), best)
	}
	return best
}

// differing counts bytes that differ from the EtherType on, up to a limit.
func differing(a, b []byte, limit int) int {
	n := 0
	for i := etherType; i < len(a) && n < limit; i++ {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}

// etherType is where the EtherType of a frame lies; routers change the addresses before it.
const etherType = 12

// change settles a packet that arrived in the form of got.
func (m *merger) change(f, got *flight) {
	g := &got.Rec
	f.Rec.Recv, f.Rec.Fate, f.Rec.Cause = g.Recv, trace.Corrupted, f.cause
	if f.cause == "" {
		f.Rec.Cause = "corrupt"
	}
	change := g.AsChange()
	f.KeepChange(&change)
	m.arrived(f)
}

// copied settles a copy of a packet that has arrived, or was to. It may arrive in another form than it was made: links
// that do both corrupt copies like all packets. The log of a link tells whether that was damage.
func (m *merger) copied(f, original *flight) {
	fate := trace.Delivered
	switch {
	case original.altered:
		fate = original.Rec.Fate
		f.formOf(original)
	case f.key != original.key:
		fate = trace.Corrupted
		f.formOf(original)
	}
	f.Rec.Copy, f.Rec.Fate, f.Rec.Cause = true, fate, cmp.Or(original.cause, "duplicate")
	m.stats.Copies++
}

// formOf gives an arrival the form in which another packet was sent, and keeps its own as that in which it was
// received.
func (f *flight) formOf(o *flight) {
	change, at := f.Rec.AsChange(), f.Rec.Recv
	f.KeepChange(&change)
	r := o.Rec
	r.Sent, r.Recv, r.Changed = vtime.Never, at, f.Rec.Changed
	f.Keep(&r)
}
