package recording

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// stray is evidence that the packets of a flow belong to another flow, from which they differ only in the destination
// QP: each of them fits where a packet of the other flow is missing. A flow with a packet that fits nowhere else has no
// stray.
type stray struct {
	of   *flow   // the flow that the packets fit
	open bool    // the next packet of that flow will show whether the latest packet fits
	psn  psn.PSN // of the latest packet, or the first of several in a row, while open
}

// Limits of the search for stray packets.
const (
	neighbours  = 256 // newest flows with which a packet is compared
	strayAnswer = 4   // most answers of a stray flow: a flow of more answers is of an existing QP
)

// sequence is the position of a flow: the PSN and opcode that it sends next.
type sequence struct {
	any    bool
	unsure bool    // the latest packet was a READ of unknown span, so next is unknown
	inside bool    // the next packet continues a message
	next   psn.PSN // PSN after the latest packet
	msn    psn.MSN // MSN of the latest answer with an AETH
}

// take advances the sequence by a packet of flow w.
func (q *sequence) take(p *roce.Packet, w *flow) {
	n := w.span(p, 0)
	q.any, q.unsure, q.inside = true, n == 0, !p.Opcode.EndsMessage()
	if p.Opcode.Layout()&roce.LayoutAETH != 0 {
		q.msn = p.AETH.MSN
	}
	q.next = p.PSN.Add(max(1, n))
}

// continues reports whether request p is the next one of the sequence.
func (q *sequence) continues(p *roce.Packet) bool {
	return q.any && !q.unsure && p.PSN == q.next && q.inside != p.Opcode.StartsMessage()
}

// astray advances the sequence of flow w, and looks for another flow that the packets of w fit, as long as all of them
// do.
func (l *learner) astray(w *flow, p *roce.Packet) {
	o := p.Opcode
	follows := !o.NumberedApart() && (o.IsRequest() || o.IsResponse())
	if w.frames == 1 || w.stray != nil {
		l.place(w, p, follows)
	}
	// a flow that sends the missing packet itself refutes the claim of the other flow, unless it has gone back before
	if c := w.claim; c != nil && o.IsRequest() {
		if w.claim = nil; c.stray != nil && (p.PSN == w.sequence.next || p.PSN.Less(c.stray.psn)) {
			c.stray.open = false
		} else {
			c.stray = nil
		}
	}
	if w.stray == nil && follows {
		w.sequence.take(p, w)
	}
}

// place decides whether packet p of flow w fits another flow, the same one as the earlier packets of w if there are
// any.
func (l *learner) place(w *flow, p *roce.Packet, follows bool) {
	t := w.stray
	if w.stray = nil; !follows {
		return
	}
	if t != nil && t.open { // one directly behind another
		if f := t.of; p.Opcode.IsRequest() && f.claim == w && f.sequence.continues(p) {
			w.stray = t
			f.sequence.take(p, f)
		}
		return
	}
	for i := range min(neighbours, len(l.order)) {
		f := l.order[len(l.order)-1-i]
		if f == w || f.stray != nil || f.key.src != w.key.src || f.key.dst != w.key.dst || f.port != w.port ||
			t != nil && t.of != f {
			continue
		}
		switch {
		case p.Opcode.IsRequest() && f.claim == nil && f.sequence.continues(p):
			w.stray, f.claim = &stray{f, true, p.PSN}, w
			f.sequence.take(p, f)
			return
		case p.Opcode.IsResponse() && f.owes(p):
			w.stray = &stray{of: f}
			return
		}
	}
}

// owes reports whether flow f may send answer p next: p answers a request that waits for an answer and has a possible
// MSN, or it is the next READ response.
func (f *flow) owes(p *roce.Packet) bool {
	best := candidate{}
	for _, c := range f.answers {
		if c.votes > best.votes {
			best = c
		}
	}
	switch {
	case best.flow == nil || !f.sequence.any:
		return false
	case !p.Opcode.StartsMessage():
		return p.PSN == f.sequence.next && f.sequence.inside
	case p.Opcode.Layout()&roce.LayoutAETH == 0:
		return false
	}
	from, to := f.sequence.next, best.flow.sequence.next
	steps := p.AETH.MSN.Sub(f.sequence.msn)
	return from.Less(to) && p.PSN.In(from, to) && steps >= 0 && steps <= to.Sub(from)
}

// gather assigns stray flows to the flows that their packets fit. It is called when the peers are known: a flow with a
// peer is no stray, nor is one that may have a peer. QPs whose PSNs are alike fit each other by chance.
func (l *learner) gather() {
	l.others = map[*flow][]uint32{}
	open := l.open()
	for _, w := range l.order {
		if t := w.stray; t != nil && !t.open && w.peer == nil && (w.requests > 0 || w.frames <= strayAnswer) &&
			!open[w.back].others(w, t.of.peer) {
			w.placed = true
			l.others[t.of] = append(l.others[t.of], w.key.qp)
			t.of.keys.merge(&w.keys)
		}
	}
}

// unmatched holds flows of a direction whose peer is not known, or a guess: the first two with requests, and with
// answers.
type unmatched struct{ requests, answers [2]*flow }

// others reports whether a flow may be the peer of w, except for one.
func (u *unmatched) others(w, except *flow) bool {
	if u == nil {
		return false
	}
	other := func(r *flow) bool { return r != nil && r != except }
	return w.replied.n > 0 && slices.ContainsFunc(u.requests[:], other) ||
		w.requests > 0 && slices.ContainsFunc(u.answers[:], other)
}

// open returns the unmatched flows by direction. Stray flows themselves match no other.
func (l *learner) open() map[int32]*unmatched {
	all := map[int32]*unmatched{}
	for _, w := range l.order {
		if w.peer != nil && !w.guessed || w.lonely() || w.stray != nil && !w.stray.open && w.peer == nil {
			continue
		}
		u := all[w.way]
		if u == nil {
			u = &unmatched{}
			all[w.way] = u
		}
		if w.requests > 0 {
			keep(&u.requests, w)
		}
		if w.replied.n > 0 {
			keep(&u.answers, w)
		}
	}
	return all
}

// keep adds a flow while there is room.
func keep(to *[2]*flow, w *flow) {
	if i := slices.Index(to[:], nil); i >= 0 {
		to[i] = w
	}
}
