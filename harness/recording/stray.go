package recording

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// stray is what shows that the packets of a flow, which differ from those of another one in nothing but the QP that
// they are for, are the other one's: each stands where a packet of that one is missing. A flow of which a packet fits
// nowhere else has none.
type stray struct {
	of   *flow // the one that the packets fit
	open bool  // the next packet of that one shows whether the latest fits
}

// The limits of a search for packets that went astray.
const (
	neighbours  = 256 // newest flows that are asked whether a packet is theirs
	strayAnswer = 4   // answers that may go astray: more of them are those of a QP that is there
)

// sequence is where a flow stands: what it would send next.
type sequence struct {
	any    bool
	unsure bool    // the latest was a READ of unknown length
	inside bool    // the message goes on
	next   psn.PSN // after the latest packet
	msn    psn.MSN // of the latest answer that has one
}

// take moves past a packet of flow w.
func (q *sequence) take(p *roce.Packet, w *flow) {
	n := 1
	q.any, q.unsure, q.inside = true, false, !p.Opcode.EndsMessage()
	if p.Opcode == roce.ReadRequest && p.RETH.DMALen > 0 {
		mtu := w.mtu(0)
		if q.unsure = mtu == 0; mtu > 0 {
			n = (int(p.RETH.DMALen) + mtu - 1) / mtu
		}
	}
	if p.Opcode.Layout()&roce.LayoutAETH != 0 {
		q.msn = p.AETH.MSN
	}
	q.next = p.PSN.Add(n)
}

// continues reports whether request p is what comes next.
func (q *sequence) continues(p *roce.Packet) bool {
	return q.any && !q.unsure && p.PSN == q.next && q.inside != p.Opcode.StartsMessage()
}

// astray follows the sequence of each flow, and looks at the packets of one that has sent nothing yet but such as fit
// another one.
func (l *learner) astray(w *flow, p *roce.Packet) {
	o := p.Opcode
	follows := !o.NumberedApart() && (o.IsRequest() || o.IsResponse())
	if w.frames == 1 || w.stray != nil {
		l.place(w, p, follows)
	}
	// a flow that sends what was missing itself has lost nothing to the other one
	if c := w.claim; c != nil && o.IsRequest() {
		if w.claim = nil; c.stray != nil && p.PSN == w.sequence.next {
			c.stray.open = false
		} else {
			c.stray = nil
		}
	}
	if w.stray == nil && follows {
		w.sequence.take(p, w)
	}
}

// place decides whether packet p of a flow whose others fit another one, if there are any, does too.
func (l *learner) place(w *flow, p *roce.Packet, follows bool) {
	t := w.stray
	if w.stray = nil; !follows || t != nil && t.open {
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
			w.stray, f.claim = &stray{f, true}, w
			f.sequence.take(p, f)
			return
		case p.Opcode.IsResponse() && f.owes(p):
			w.stray = &stray{f, false}
			return
		}
	}
}

// owes reports whether answer p is one that flow f may send next: to a request that waits for its answer, with an MSN
// that it can have come to, or the READ response that follows.
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

// gather gives the packets that went astray to the flows that they are of. It is for the end, when it is known which
// flow answers which: one that another flow asks or answers is there.
func (l *learner) gather() {
	l.others = map[*flow][]uint32{}
	for _, w := range l.order {
		if t := w.stray; t != nil && !t.open && w.peer == nil && (w.requests > 0 || w.frames <= strayAnswer) {
			w.placed = true
			l.others[t.of] = append(l.others[t.of], w.key.qp)
			t.of.keys.merge(&w.keys)
		}
	}
}
