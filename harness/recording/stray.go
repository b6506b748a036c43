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

	// Of answers: each acknowledges the next message after the latest answer of both flows, which the other flow never
	// does itself.
	exact bool
	newer bool    // the other flow has gone on behind the latest answer
	ended bool    // it has gone on behind an answer
	msn   psn.MSN // of the latest answer
}

// Limits of the search for stray packets.
const (
	neighbours  = 256 // newest flows with which a packet is compared
	strayAnswer = 4   // most answers of a stray flow that need not be exact: a flow of more may be of an existing QP
	regular     = 8   // answers from which on it tells something that a flow answers message by message
)

// sequence is the position of a flow: the PSN and opcode that it sends next.
type sequence struct {
	any    bool
	unsure bool    // the latest packet was a READ of unknown span, so next is unknown
	inside bool    // the next packet continues a message
	merges bool    // an answer has acknowledged several messages
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
		if o.IsResponse() {
			w.itself(p)
		}
		w.sequence.take(p, w)
	}
}

// itself compares an answer of flow w with the answers of the stray flow that were for w.
func (w *flow) itself(p *roce.Packet) {
	latest := w.sequence.msn
	if c := w.lent; c != nil && c.stray != nil && c.stray.of == w {
		switch t := c.stray; {
		case p.PSN.LessEq(t.psn):
			t.exact, w.lent = false, nil
		case !t.newer:
			t.newer, t.ended, latest = true, true, t.msn
		}
	}
	w.sequence.merges = w.sequence.merges || w.sequence.any && p.AETH.MSN.Sub(latest) > 1
}

// lends returns the stray with one more answer p for f, from w, whose stray was t.
func (f *flow) lends(w *flow, t *stray, p *roce.Packet) *stray {
	latest := f.sequence
	switch {
	case t == nil:
		t = &stray{of: f, exact: f.lent == nil && !latest.merges && f.replied.n >= regular}
		f.lent = w
	case !t.newer:
		latest.next, latest.msn = t.psn.Next(), t.msn
	}
	steps, again := p.AETH.MSN.Sub(latest.msn), p.PSN.Next() == latest.next && p.AETH.MSN == latest.msn
	t.exact = t.exact && rc(p) && (again || !p.PSN.Less(latest.next) && steps >= 0 && steps <= 1)
	t.psn, t.msn, t.newer = p.PSN, p.AETH.MSN, false
	return t
}

// rc reports whether p is an ACK, and no NAK or data.
func rc(p *roce.Packet) bool { return p.Opcode == roce.Acknowledge && p.AETH.Syndrome.IsACK() }

// gathered reports whether the packets of w certainly belong to another flow, if no flow is its peer. Answers to a QP
// whose requests the capture lacks fit another flow by chance: not those that stand each where that one, which answers
// message by message, leaves out an answer.
func (w *flow) gathered() bool {
	t := w.stray
	exact := t.exact && t.ended && !t.of.sequence.merges
	return !t.open && w.peer == nil && (w.requests > 0 || w.frames <= strayAnswer || exact)
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
			w.stray, f.claim = &stray{of: f, open: true, psn: p.PSN}, w
			f.sequence.take(p, f)
			return
		case p.Opcode.IsResponse() && f.owes(p):
			w.stray = f.lends(w, t, p)
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
		if t := w.stray; t != nil && w.gathered() && !open[w.back].others(w, t.of.peer) {
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
