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
	e.now, e.scratch.lent = max(e.now, now), 0
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
		kept := l.slots
		if takesReceive(ld.Op) {
			kept = max(kept, l.inSlots)
		}
		first = max(0, ld.posted-int(kept))
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
	m := image{base: l.inbox(i), want: e.scratch.take(l.inSlot * l.inSlots), scratch: &e.scratch}
	pattern(m.want, e.spec.Seed, e.side, i, inboxRegion)
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
	scratch   *scratch
}

// states returns the states for writing.
func (m *image) states() []byte {
	if m.state == nil {
		m.state = m.scratch.take(uint64(len(m.want)))
		clear(m.state)
	}
	return m.state
}

// scratch lends memory to the images of one connection, and again to those of the next: what is used again is in the
// processor's caches, and new memory costs more than all that is done with it.
type scratch struct {
	blocks [][]byte
	lent   int // of blocks
}

// take returns n bytes, whatever they hold.
func (s *scratch) take(n uint64) []byte {
	if s.lent == len(s.blocks) {
		s.blocks = append(s.blocks, nil)
	}
	b := &s.blocks[s.lent]
	if uint64(cap(*b)) < n {
		*b = make([]byte, n)
	}
	s.lent++
	return (*b)[:n]
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

// blockLen is how many states are looked at together. Most ranges have one state all over, and a machine compares blocks far
// faster than bytes.
const blockLen = 4096

// putAll sets bytes to what the request wrote.
func (m *image) putAll(at uint64, b []byte, w *Work) {
	for len(b) > 0 {
		n := min(len(b), blockLen)
		if state := m.states()[at : at+uint64(n)]; uniform(state) {
			m.putBlock(at, b[:n], state[0], w)
		} else {
			for k := range n {
				m.put(at+uint64(k), b[k], w)
			}
		}
		at, b = at+uint64(n), b[n:]
	}
}

// uniform reports whether all states, one at least, are the same: then each equals its neighbour.
func uniform(state []byte) bool { return bytes.Equal(state[1:], state[:len(state)-1]) }

// putBlock is put for bytes that are all in one state.
func (m *image) putBlock(at uint64, b []byte, was byte, w *Work) {
	mark, want := w.mark(), m.want[at:at+uint64(len(b))]
	switch {
	case was == open:
		return
	case !w.Done:
		mark = open
	case was != untouched && (was != mark || m.unordered) && !bytes.Equal(want, b):
		for k := range b {
			m.put(at+uint64(k), b[k], w)
		}
		return
	}
	copy(want, b)
	if mark != was {
		fill(m.state[at:at+uint64(len(b))], mark)
	}
}

// fill sets all bytes to one value, by copying what is filled already.
func fill(b []byte, value byte) {
	b[0] = value
	for n := 1; n < len(b); n *= 2 {
		copy(b[n:], b[:n])
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

// openBut opens the bytes that were not declared valid; declared has a bit for each byte, 64 of them a word, or is nil.
func (m *image) openBut(declared []uint64) {
	for at := 0; at < len(m.want); at += 64 {
		word := uint64(0)
		if declared != nil {
			word = declared[at>>6]
		}
		if word != 1<<64-1 {
			openSome(m.states()[at:min(at+64, len(m.want))], word)
		}
	}
}

// openSome opens those of up to 64 bytes that have no bit.
func openSome(state []byte, declared uint64) {
	if declared == 0 && uniform(state) {
		if state[0] != untouched {
			fill(state, open)
		}
		return
	}
	for k := range state {
		if state[k] != untouched && declared>>k&1 == 0 {
			state[k] = open
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
		setBits(q.declared, off, off+uint64(ev.Len))
	}
}

// setBits sets the bits [from, to), a word at a time.
func setBits(bits []uint64, from, to uint64) {
	for from < to {
		n := min(to-from, 64-from&63)
		bits[from>>6] |= (1<<n - 1) << (from & 63) // a shift by 64 leaves nothing, and all ones are left of it
		from += n
	}
}

// compare counts the bytes that are not as expected.
func (m *image) compare(got []byte) (mismatch, guard int64) {
	for at := 0; at < len(got); at += blockLen {
		end := min(at+blockLen, len(got))
		if bytes.Equal(got[at:end], m.want[at:end]) {
			continue
		}
		state := m.states()
		for k := at; k < end; k++ {
			switch {
			case got[k] == m.want[k] || state[k] == open:
			case state[k] == untouched:
				guard++
			default:
				mismatch++
			}
		}
	}
	return mismatch, guard
}
