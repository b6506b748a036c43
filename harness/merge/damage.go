package merge

import (
	"cmp"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// strange decides about an arrival whose bytes nobody sent.
func (m *merger) strange(f *flight) {
	f.settled = true
	from := f.Rec.From
	sent := m.choose(m.index.like(f.loose), f.Rec.Recv, nil)
	var original *flight
	if sent == nil && f.Rec.ICRC == trace.Bad {
		if sent = m.similar(f, false); sent == nil {
			original = m.similar(f, true)
		}
	}
	switch {
	case sent != nil:
		m.change(sent, f)
		f.dead = true
	case original != nil:
		m.damaged(f, original)
	case m.gapNear(from, f.Rec.Recv.Add(-m.window), f.Rec.Recv):
		f.Rec.Fate, f.Rec.Cause = trace.Unknown, causeCapture
	default:
		f.Rec.Fate = trace.Injected
	}
}

// similarBytes is how many bytes a corrupted frame may differ in to be recognised.
const similarBytes = 8

// similar finds the packet that was damaged in the very fields that identify it, among the frames of its length. It looks once, for
// a frame that nothing else explains, at those in flight, and then at those that have arrived.
func (m *merger) similar(f *flight, arrived bool) *flight {
	var best *flight
	least := similarBytes + 1
	for i := range m.sent.Len() {
		o := m.sent.At(i)
		if o.Rec.Sent > f.Rec.Recv || o.matched != arrived || o.settled != arrived || o.Rec.From != f.Rec.From || len(o.Rec.Raw) != len(f.Rec.Raw) {
			continue
		}
		if d := differing(o.Rec.Raw, f.Rec.Raw, least); d < least {
			best, least = o, d
		}
	}
	return best
}

// differing counts bytes that differ behind the Ethernet header, up to a limit.
func differing(a, b []byte, limit int) int {
	n := 0
	for i := etherLen; i < len(a) && n < limit; i++ {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}

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

// copied settles a copy of a packet that has arrived.
func (m *merger) copied(f *flight, fate trace.Fate, original *flight) {
	f.Rec.Copy, f.Rec.Fate, f.Rec.Cause = true, fate, cmp.Or(original.cause, "duplicate")
	m.stats.Copies++
}

// damaged settles a copy that arrived in another form than it was made: links that do both corrupt copies like all packets.
func (m *merger) damaged(f, original *flight) {
	change, at := f.Rec.AsChange(), f.Rec.Recv
	f.KeepChange(&change)
	r := original.Rec
	r.Sent, r.Recv, r.Changed = vtime.Never, at, f.Rec.Changed
	f.Keep(&r)
	m.copied(f, trace.Corrupted, original)
}
