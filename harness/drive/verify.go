package drive

import (
	"bytes"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Work is one request as far as memory is concerned: what it was, and whether it is known to be done.
type Work struct {
	WR   engine.WorkRequest
	Done bool
	Loop bool // of a load: where it stands among the requests of other loads and of the script is not known
}

// Verify compares the memory of connection i with what requests should have made of it, and reports the result as Memory
// events: "mismatch" counts bytes inside a written range that are wrong, "guard" bytes that no request named and that
// changed nevertheless. It looks at what the peer's requests act on here (the target, and the inbox when it is clear
// which message took which receive) and at what this side's own READs and atomics brought.
//
// Bytes whose content is not determined are not judged: those of requests that did not complete, and those that depend on
// an order that is not known. Of an unreliable transport only what the target declared is judged, and the guards. peers is the peer's Posted; ok is false, and nothing reported, when there are no bytes.
func (e *Endpoint) Verify(now vtime.Time, i int, peers []Work) (mismatch, guard int64, ok bool) {
	e.now = max(e.now, now)
	if e.turns.Taken() || e.memory.Load(Target(i), 1) == nil { // who takes turns looks at what comes
		return 0, 0, false
	}
	add := func(m *image) {
		if m != nil {
			a, b := m.compare(e.memory.Load(m.base, len(m.want)))
			mismatch, guard = mismatch+a, guard+b
		}
	}
	own, other := e.replay(e.side, i, e.Posted(i)), e.replay(e.side.Other(), i, peers)
	add(own.sources())
	if e.layout.reads {
		add(own.lands())
	}
	if slices.Contains(e.impl.Features, engine.Unreliable) {
		other.targets().openBut(e.qps[i].declared)
		add(other.targets())
	} else {
		add(other.targets())
		add(e.inbox(i, other, peers))
	}
	e.event = trace.Event{Name: "mismatch", Value: mismatch}
	e.send(i, trace.Memory)
	e.event = trace.Event{Name: "guard", Value: guard}
	e.send(i, trace.Memory)
	return mismatch, guard, true
}

// Posted returns connection i's requests in posting order, as the peer needs them for Verify. Of a load it gives those
// that no later one has overwritten.
func (e *Endpoint) Posted(i int) []Work {
	var out []Work
	for k := range e.qps[i].loads {
		out = append(out, e.layout.standing(i, &e.qps[i].loads[k])...)
	}
	for _, w := range e.script.posted {
		if w.qp == i {
			out = append(out, w.Work)
		}
	}
	return out
}

// standing returns the requests of a load of which something is still to be seen. A later one of the same slot that is as
// large wrote the same bytes to the same places.
func (l *layout) standing(i int, ld *load) []Work {
	first, varied := 0, ld.flows.Varied()
	if !varied {
		first = max(0, ld.posted-int(max(l.slots, l.inSlots)))
	}
	var out []Work
	over := make([]uint32, l.slots) // bytes of each slot that a later request has written
	for again := *ld; again.posted > first; {
		again.posted--
		w := Work{WR: l.request(i, &again), Done: again.posted < ld.done, Loop: true}
		slot := &over[uint64(again.posted)%l.slots]
		if varied && w.Done && w.WR.Len <= *slot {
			continue
		}
		if w.Done {
			*slot = w.WR.Len
		}
		out = append(out, w)
	}
	slices.Reverse(out)
	return out
}

// inbox is what connection i's receives should hold, nil when that is not known: the k-th message that takes a receive
// takes the k-th posted one, as long as all messages come from one load or all from the script.
func (e *Endpoint) inbox(i int, peer *replay, work []Work) *image {
	l := &e.layout
	var taking []Work
	for _, w := range work {
		if takesReceive(w.WR.Op) {
			taking = append(taking, w)
		}
	}
	for _, w := range taking {
		if w.Loop != taking[0].Loop || w.WR.ID/perLoad != taking[0].WR.ID/perLoad || uint64(w.WR.Len) > l.inSlot {
			return nil
		}
	}
	if e.otherReceives(i) {
		return nil
	}
	m := image{base: l.inbox(i), want: pattern(e.spec.Seed, e.side, i, inboxRegion, l.inSlot*l.inSlots)}
	for k, w := range taking {
		if w.Loop {
			k = int(w.WR.ID % perLoad) // the list holds the last messages only
		}
		if w.WR.Op != engine.OpWriteImm {
			copyWork(&m, l.receive(i, k).VA, peer.sources(), w.WR.LocalVA, &w)
		}
	}
	return &m
}

// otherReceives reports whether receives of connection i are scripted, or taken by packets that the peer never sent.
func (e *Endpoint) otherReceives(i int) bool {
	return slices.ContainsFunc(e.spec.Posts, func(p scenario.Post) bool { return p.Receive && p.QP == i && p.From == e.side }) ||
		slices.ContainsFunc(e.spec.Injections, func(in scenario.Injection) bool { return in.QP == i && in.To == e.side })
}

// takesReceive reports whether the operation consumes a receive at the peer (IBTA 9.4.1, 9.4.2).
func takesReceive(op engine.Op) bool {
	switch op {
	case engine.OpSend, engine.OpSendImm, engine.OpSendInv, engine.OpWriteImm:
		return true
	}
	return false
}

// image is the expected content of a region.
type image struct {
	base  uint64
	want  []byte
	state []byte // of each byte; nil as long as nothing was touched
	// unordered says that of several requests which wrote a byte any may be the one that counts.
	unordered bool
}

// states returns the states for writing.
func (m *image) states() []byte {
	if m.state == nil {
		m.state = make([]byte, len(m.want))
	}
	return m.state
}

// The state of a byte. What a script and a load both wrote is open, unless they wrote the same.
const (
	untouched = iota
	byScript
	byLoad
	open // its content is not determined
)

// at returns the offset of [va, va+n) in the region; ok is false when the region does not hold it all.
func (m *image) at(va, n uint64) (off uint64, ok bool) {
	size := uint64(len(m.want))
	off = va - m.base
	return off, off <= size && n <= size-off
}

// mark is the state of what the request wrote.
func (w *Work) mark() byte {
	if w.Loop {
		return byLoad
	}
	return byScript
}

// putAll is put for bytes that nothing has touched, by a request that is done.
func (m *image) putAll(at uint64, b []byte, w *Work) {
	copy(m.want[at:], b)
	state, mark := m.states()[at:at+uint64(len(b))], w.mark()
	for k := range state {
		state[k] = mark
	}
}

// put sets one byte to what the request wrote.
func (m *image) put(at uint64, b byte, w *Work) {
	mark, was := w.mark(), m.states()[at]
	switch {
	case was == open:
		return
	case !w.Done, was != untouched && (was != mark || m.unordered) && m.want[at] != b:
		mark = open
	}
	m.want[at], m.state[at] = b, mark
}

// openBut opens the bytes that were not declared valid; declared has a bit for each byte, or is nil.
func (m *image) openBut(declared []uint64) {
	for k := range m.states() {
		if m.state[k] != untouched && (declared == nil || declared[k>>6]>>(k&63)&1 == 0) {
			m.state[k] = open
		}
	}
}

// declare notes that bytes of a target region are valid.
func (e *Endpoint) declare(i int, ev *engine.Event) {
	q, size := &e.qps[i], e.layout.slot*e.layout.slots
	if off := ev.VA - Target(i); off <= size && uint64(ev.Len) <= size-off && e.memory.Load(Target(i), 1) != nil {
		if q.declared == nil {
			q.declared = make([]uint64, (size+63)/64)
		}
		for k := off; k < off+uint64(ev.Len); k++ {
			q.declared[k>>6] |= 1 << (k & 63)
		}
	}
}

// compare counts the bytes that are not as expected.
func (m *image) compare(got []byte) (mismatch, guard int64) {
	if bytes.Equal(got, m.want) {
		return 0, 0
	}
	state := m.states()
	for k, b := range got {
		switch {
		case b == m.want[k] || state[k] == open:
		case state[k] == untouched:
			guard++
		default:
			mismatch++
		}
	}
	return mismatch, guard
}
