package evidence

import (
	"net/netip"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

// reuse detects that the QPNs of a connection were reused for another one whose set-up was not captured. The PSNs of
// the other connection may begin anywhere, and its MTU and UDP source ports may differ. That both ends begin again, the
// requester with its PSNs and the responder with its MSN, distinguishes it from a faulty sender. So does another port
// or MTU from a PSN on at which a connection may begin, unless an MSN shows that it goes on.
type reuse struct {
	begun    bool
	answered bool       // an answer has passed
	first    psn.PSN    // PSN of the first request
	newest   psn.PSN    // PSN after the newest request
	threads  Threads    // requests and answers
	severed  bool       // a request passed where another connection may begin, and no answer since
	turns    [2]turning // of the port and of the MTU of the requests

	msn     psn.MSN // MSN of the newest acknowledgement
	top     psn.MSN // largest MSN of all answers
	leapt   bool    // a message began before the newest one or far from it, and no acknowledgement has passed since
	earlier earlier
	restart restart
	anew    bool // the QPNs were reused
}

// turning is a change of the requests that another connection explains, to be decided by the MSN of the next answer.
type turning struct {
	open bool
	psn  psn.PSN // of the first request after the change
	end  psn.PSN // after the newest request since then
	n    psn.MSN // requests since then
}

// farPSN is the distance from the other requests from which on a loss does not explain a PSN.
const farPSN = 64

// asks processes a request with the PSNs up to end.
func (l *reuse) asks(s *Sighting, end psn.PSN) {
	if !s.Sound || !s.Headed {
		return
	}
	p, t := s.PSN, &l.threads[0]
	ports, sizes := t.ports.changes, t.sizes.changes
	as := t.takes(s.Opcode, p, int(s.Payload), s.Port, end.Sub(p))
	if !l.begun {
		l.begun, l.first, l.newest = true, p, end
	}
	for i, changed := range [2]bool{t.ports.changes != ports, t.sizes.changes != sizes} {
		l.turns[i].takes(p, end, as, changed)
	}
	l.severed = l.severed || as == severed
	l.joins(s, end)
}

// joins processes a request as one of the connection, or as the first of another one: a message whose PSN is neither
// the next nor one that was sent, or that asked for something else when it was.
func (l *reuse) joins(s *Sighting, end psn.PSN) {
	p, starts := s.PSN, s.Opcode.StartsMessage()
	far, like := !p.In(l.first.Add(-farPSN), l.newest.Add(farPSN)), unlike
	if p.Less(l.newest) || l.restart.open {
		like = l.earlier.like(s, end)
	}
	afresh := starts && like == differs
	unsent := like == unlike && (p.Less(l.first) || l.newest.Less(p) || l.earlier.forgot(p))
	begins := far || afresh || starts && unsent
	switch {
	case l.restart.open && like == repeats && l.restart.repeats(p): // what the connection had sent before
		l.goesOn()
	case l.restart.takes(s, end, far):
		l.restart.afresh = l.restart.afresh || afresh
	case begins && p != l.newest:
		l.restart.begins(s, end, far, afresh)
	case l.restart.open && p.Less(l.newest): // the requester goes back
		l.goesOn()
	}
	l.leapt = l.leapt || far || starts && l.answered && p.Less(l.newest)
	if like != repeats {
		l.earlier.add(s, end)
	}
	if !far && !(l.restart.open && p.In(l.restart.psn, l.restart.reach)) {
		l.newest = psn.Max(l.newest, end)
	}
}

// goesOn notes that the connection did not end where another one might have begun.
func (l *reuse) goesOn() {
	if r := &l.restart; r.open {
		if r.open = false; !r.far {
			l.newest = psn.Max(l.newest, r.reach)
		}
	}
}

// takes processes a request, which begins the change if changed is set.
func (t *turning) takes(p, end psn.PSN, as joint, changed bool) {
	switch {
	case changed && as != within:
		*t = turning{open: true, psn: p}
	case as == severed:
		t.open = false // requests may be missing
	}
	t.n, t.end = t.n+1, end
}

// answers processes an answer.
func (l *reuse) answers(s *Sighting) {
	t := &l.threads[1]
	changes, ahead := t.ports.changes, s.PSN.Sub(t.next)
	t.takes(s.Opcode, s.PSN, int(s.Payload), s.Port, 1)
	if !l.begun {
		return
	}
	switch counts := s.Opcode.Layout()&roce.LayoutAETH != 0; {
	case t.ports.changes == changes:
	case !s.PSN.In(l.first.Add(-farPSN), l.newest.Add(farPSN)) || counts && s.MSN < l.top:
		l.anew = true // the requests are in another flow, or the clocks of the directions differ
	case !l.severed && ahead >= 0 && s.PSN.Less(l.newest):
		t.ports.mixed = true // all requests go on, and so do the answers
	}
	l.answered, l.severed = true, false
	l.counted(s)
}

// counted processes the MSN of an answer. If the MSN begins again together with the PSNs, the port or the MTU, the
// answer is of another connection; if it is larger than another connection can have counted, there is none. A repeated
// READ response may carry an old MSN, so it proves nothing when only PSNs leapt, unless it answers the request that
// leapt.
func (l *reuse) counted(s *Sighting) {
	n, ack := s.MSN, s.Opcode == roce.Acknowledge
	if s.Opcode.Layout()&roce.LayoutAETH == 0 {
		return
	}
	l.anew = l.anew || ack && l.leapt && 2*n < l.msn
	for i := range l.turns {
		t := &l.turns[i]
		if !t.open || !s.PSN.In(t.psn, t.end) {
			continue // it answers an earlier request, perhaps late by the clock of its direction
		}
		t.open = false
		switch of := [2]*change{&l.threads[0].ports, &l.threads[0].sizes}[i]; {
		case n >= l.top:
			of.mixed = of.mixed || n > t.n
		case n <= t.n || l.leapt:
			l.anew = true
		}
	}
	switch r := &l.restart; {
	case !r.open:
	case s.PSN.In(r.psn, r.reach):
		l.anew = l.anew || n <= r.since && (n < l.top || r.far || r.afresh)
		l.goesOn()
	case !s.grants() && s.PSN.In(l.first, r.psn): // the responder goes on
		l.goesOn()
	}
	l.top = max(l.top, n)
	if ack {
		l.leapt, l.msn = false, n
	}
}

// may reports whether the QPNs were, or may have been, reused: in the second case the port, the MTU or what is asked
// for changed, and nothing tells whether the connection did.
func (l *reuse) may() bool {
	return l.anew || l.restart.open && l.restart.afresh || l.threads[0].renewed() || l.threads[1].renewed()
}

// reusedDoubt is the doubt about connections of which each was set up with a QPN of another one.
var reusedDoubt = &trace.Doubt{Fails: validity.Capture, Why: "a QPN was used again, and its packets may be of either " +
	"connection"}

// MarkAnew notes that the packets of a connection may be of several, so that no MTU holds for all of them.
func MarkAnew(c *trace.Conn) {
	c.Anew, c.Ends[0].QP.MTU, c.Ends[1].QP.MTU = true, 0, 0
	for s, d := range c.Doubts {
		c.Doubts[s] = joined(d, reusedDoubt)
	}
}

// Overlay marks the connections that share the QPN of a host with another one: packets to it are of either.
func Overlay(conns []trace.Conn) {
	type end struct {
		host netip.Addr
		qpn  uint32
	}
	users := map[end]int{}
	each := func(c *trace.Conn, f func(end)) {
		for i := range c.Ends {
			f(end{c.Ends[i].Addr, c.Ends[i].QP.QPN})
		}
	}
	for i := range conns {
		each(&conns[i], func(e end) { users[e]++ })
	}
	for i := range conns {
		c := &conns[i]
		each(c, func(e end) { c.Anew = c.Anew || users[e] > 1 })
		if c.Anew {
			MarkAnew(c)
		}
	}
}
