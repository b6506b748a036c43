package merge

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// strange settles an arrival whose bytes match no sent frame: as a damaged packet, as a copy, as Unknown, or as
// Injected.
func (m *merger) strange(f *flight) {
	if m.told && m.foreseen(f, vtime.Never) { // it arrived before its due time, by the clock of the link
		return
	}
	f.settled = true
	from := f.Rec.From
	sent, original := m.damagedOf(f), (*flight)(nil)
	if sent == nil {
		like := m.index.like(f.loose)
		if m.foreign {
			like = unlike(like, f)
		}
		if sent = m.choose(like, f.Rec.Recv, nil); sent == nil && f.Rec.ICRC != trace.Good {
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

// unlike leaves out the packets that cannot have arrived as f on a link where nobody seals packets anew: those whose
// ICRC is right, as that of f is, and differs.
func unlike(list []*flight, f *flight) []*flight {
	if f.Rec.ICRC != trace.Good {
		return list
	}
	seal := sealOf(f)
	return slices.DeleteFunc(slices.Clone(list), func(o *flight) bool {
		return o.Rec.ICRC == trace.Good && !bytes.Equal(sealOf(o), seal)
	})
}

// sealOf returns the bytes of the ICRC of a packet; nil when they are not known.
func sealOf(f *flight) []byte {
	at, n, ok := roce.FieldSpan(f.Rec.Raw, "icrc")
	if !ok || at+n > len(f.Rec.Raw) {
		return nil
	}
	return f.Rec.Raw[at : at+n]
}

// similarBytes is the largest number of bytes in which a corrupted frame is recognised to be a sent one.
const similarBytes = 8

// damagedOf finds the packet in flight that arrived damaged as f; nil when the ICRC of f is good, or f resembles no
// packet. If f differs in one byte from a packet with the same loose key, it is that packet. Otherwise all are
// compared: damage in the very fields that identify a packet may give it the numbers of another.
func (m *merger) damagedOf(f *flight) *flight {
	if f.Rec.ICRC == trace.Good {
		return nil
	}
	if best, bytes := nearest(f, m.index.like(f.loose)); best != nil && bytes == 1 {
		return m.closest(f, m.index.like(f.loose))
	}
	return m.closest(f, m.similar(f, false))
}

// similar lists the frames in flight, or those that have arrived, as candidates for the sent form of an unmatched
// arrival.
func (m *merger) similar(f *flight, arrived bool) (list []*flight) {
	for i := range m.sent.Len() {
		o := m.sent.At(i)
		if o.matched == arrived && o.settled == arrived {
			list = append(list, o)
		}
	}
	return list
}

// nearest returns the frame that differs from f in the fewest bytes, and the number of those bytes; the first of
// several. Candidates have the sender and length of f and left before f arrived. It is nil when all differ in more than
// similarBytes.
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

// etherType is the offset of the EtherType in a frame; routers change the addresses before it.
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

// copied settles f as a copy of original, which has arrived or was to arrive. A copy may arrive with other bytes than
// it was made with: a link that both duplicates and corrupts corrupts copies too. If the link's log has original as
// altered, its fate tells whether the change was damage.
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

// formOf gives arrival f the bytes with which o was sent, and keeps its own bytes as the form in which it was received.
func (f *flight) formOf(o *flight) {
	change, at := f.Rec.AsChange(), f.Rec.Recv
	f.KeepChange(&change)
	r := o.Rec
	r.Sent, r.Recv, r.Changed = vtime.Never, at, f.Rec.Changed
	f.Keep(&r)
}
