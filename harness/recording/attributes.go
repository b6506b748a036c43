package recording

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// Stated is what the user states of captures of other programs. The zero Stated leaves everything to the frames.
type Stated struct {
	Tap Tap
	QP  Attributes // nil: the attributes of QPs are unknown
}

// Attributes sets the attributes of the QP of a host that are stated; q has those that frames show. Told are those that
// the messages tell that set up the connection, by the keys of a qp statement of a Spec; a statement overrides them.
// Start reports whether the first PSN is stated. It is an error if the rules need further attributes.
type Attributes func(host netip.Addr, q *engine.QP, told map[string]string) (start bool, err error)

// Use says what became of the attributes that the user stated.
type Use struct {
	Stated bool
	Why    string // why they are not used; "" when they are
	Told   bool   // of some QPs the set-up of their connection told some
}

// complete sets the attributes of all QPs as they are stated. Rules take an end with known attributes for one that the
// trace shows from its first packet on, and take one QP of a host for as well known as another. So the attributes are
// used for all connections or, if the capture may lack the beginning or any part of one, for none.
func (r *Recording) complete(l *learner, of Attributes) error {
	if of == nil {
		return nil
	}
	conns, use := slices.Clone(r.Header.Conns), &r.Capture.Attributes
	use.Stated, use.Told = true, len(l.met) > 0
	if r.Header.Inferred && r.Header.Taps != [2]bool{true, true} {
		use.Why = "the place of the tap is inferred from times: state it with --tap"
	}
	for i := range conns {
		c := &conns[i]
		use.Why = cmp.Or(use.Why, defect(c))
		for side := range c.Ends {
			e, peer := &c.Ends[side], &c.Ends[1-side]
			met, told := i < len(l.met), map[string]string(nil)
			if met {
				told = l.met[i].of(e)
			}
			shown := e.QP.MTU
			start, err := of(e.Addr, &e.QP, told)
			switch {
			case err != nil && e.QP.QPN == 0:
				use.Why = cmp.Or(use.Why, "nothing shows the number of a QP of "+e.Addr.String())
			case err != nil:
				return err
			}
			e.Known, peer.QP.RecvPSN = true, e.QP.SendPSN
			w, back := l.flows[flowKey{e.Addr, peer.Addr, peer.QP.QPN}], l.flows[flowKey{peer.Addr, e.Addr, e.QP.QPN}]
			use.Why = cmp.Or(use.Why, contradiction(shown, e), beginning(w, back, e, start || met))
		}
	}
	if use.Why == "" {
		r.Header.Conns = conns
	}
	return nil
}

// begins reports whether the first request of an end in the capture has the start PSN that the user states, or that the
// messages tell which set up the connection.
func (r *Recording) begins(l *learner, conn int32, side trace.Side, of Attributes) bool {
	e, peer := r.Header.Conns[conn].Ends[side], &r.Header.Conns[conn].Ends[side.Other()]
	known := int(conn) < len(l.met)
	if of != nil && !known {
		start, err := of(e.Addr, &e.QP, nil)
		known = start && err == nil
	}
	w := l.flows[flowKey{e.Addr, peer.Addr, peer.QP.QPN}]
	return known && w != nil && w.requests > 0 && w.opened == e.QP.SendPSN
}

// defect returns why the packets of a connection may not all be known, or not all be its own; "" for no reason.
func defect(c *trace.Conn) string {
	for _, d := range c.Doubts {
		if d != nil {
			return fmt.Sprintf("the capture of %s is in doubt: %s", pair(c), d.Why)
		}
	}
	if c.Anew {
		return "a QPN was used again by " + pair(c)
	}
	return ""
}

// pair names a connection.
func pair(c *trace.Conn) string {
	return fmt.Sprintf("%v QP %#x and %v QP %#x", c.Ends[0].Addr, c.Ends[0].QP.QPN, c.Ends[1].Addr, c.Ends[1].QP.QPN)
}

// contradiction returns how the MTU of an end contradicts the one that the capture shows, 0 when it shows none; "" when
// it does not.
func contradiction(shown int, e *trace.End) string {
	if shown == 0 || e.QP.MTU == shown {
		return ""
	}
	return fmt.Sprintf("mtu=%d is stated of %v QP %#x, and the capture shows %d", e.QP.MTU, e.Addr, e.QP.QPN, shown)
}

// beginning returns why the capture may not show the requests of an end from the first one on; "" for no reason. W and
// back are the flows from the end and to it, nil when there is none, and known says that the first PSN is known.
func beginning(w, back *flow, e *trace.End, known bool) string {
	name := fmt.Sprintf("%v QP %#x", e.Addr, e.QP.QPN)
	switch {
	case e.QP.MTU == 0:
		return name + " shows no MTU: state mtu="
	case w == nil || w.requests == 0:
		if back != nil && back.replied.n > 0 {
			return "the capture has answers to requests of " + name + ", and none of the requests"
		}
		return ""
	case !known:
		return name + " has no start=, and the capture does not show how the connection was set up"
	case w.opened != e.QP.SendPSN:
		return fmt.Sprintf("the first request of %s is psn=%d and not %d: the capture began later, or lacks it", name,
			w.opened, e.QP.SendPSN)
	}
	return ""
}

// setUp is a connection that messages of the communication manager set up: the end that sent the REQ, and the end that
// accepted it with a REP.
type setUp struct {
	ends   [2]trace.End
	agreed [2]agreed
}

// agreed holds the attributes of a QP that the messages tell (IBTA 12.6.5 and 12.6.8), -1 where none does, or where one
// differs from what the other asks for. The timeout and the retries of the REQ are those of its receiver.
type agreed struct{ timeout, retry, rnr, rd, destRd int16 }

// newSetUp returns the connection of a REQ and its REP. StartingPSN of each message is the start PSN of its receiver.
func newSetUp(active, passive trace.End, req *roce.REQ, rep *roce.REP) *setUp {
	active.QP = engine.QP{QPN: req.QPN, DestQPN: rep.QPN, MTU: req.MTU(), SendPSN: rep.StartingPSN,
		RecvPSN: req.StartingPSN}
	passive.QP = engine.QP{QPN: rep.QPN, DestQPN: req.QPN, MTU: req.MTU(), SendPSN: req.StartingPSN,
		RecvPSN: rep.StartingPSN}
	there := both(req.InitiatorDepth, rep.ResponderResources)
	back := both(rep.InitiatorDepth, req.ResponderResources)
	rnr := both(req.RNRRetryCount, rep.RNRRetryCount)
	return &setUp{[2]trace.End{active, passive}, [2]agreed{
		{-1, -1, rnr, there, back}, {int16(req.ACKTimeout), int16(req.RetryCount), rnr, back, there},
	}}
}

// both returns the value that two messages have for an attribute; -1 if they differ.
func both(x, y uint8) int16 {
	if x != y {
		return -1
	}
	return int16(x)
}

// words returns the attributes by the keys of a qp statement of a Spec.
func (a *agreed) words() map[string]string {
	list := map[string]string{}
	for key, v := range map[string]int16{"timeout": a.timeout, "retry": a.retry, "rnr": a.rnr, "rd": a.rd,
		"dest-rd": a.destRd} {
		if v >= 0 {
			list[key] = strconv.Itoa(int(v))
		}
	}
	return list
}

// of returns the attributes of an end of the connection that the messages tell.
func (u *setUp) of(e *trace.End) map[string]string {
	if first := &u.ends[0]; first.Addr == e.Addr && first.QP.QPN == e.QP.QPN {
		return u.agreed[0].words()
	}
	return u.agreed[1].words()
}
