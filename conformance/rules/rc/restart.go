package rc

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var timerRestarts = rule.Rule{
	ID: "RC-TMO-003", Level: rule.Must,
	Title: "The timer restarts on each valid response while requests are outstanding, and stops when none is",
	Source: rule.Source{Ref: "IBTA 9.7.6.1.3", Requirement: "The timer is restarted when a response acknowledges " +
		"outstanding requests, and stopped when no request is outstanding."},
	Needs: rule.TapRequester | rule.Attributes, Sees: rule.RequestOut | rule.Arrivals,
	Stimulus: "acknowledged requests, and an idle QP", BlackBox: "ENG,RXE",
	New: func(c *rule.Context) rule.Check {
		switch {
		case !c.Offers(rule.Timers) && c.Offers(rule.Completions):
			return rule.Check{} // the endpoint could report its timer, but was not asked to
		case !c.Offers(rule.Timers):
			return restartsSeen(c)
		}
		t := newTimerWatch(c)
		return rule.Check{Sight: t.sight, Event: t.event, End: t.moved}
	},
}

// restartsSeen judges an unreported timer by its effect: it must not expire sooner than T_tr after the acknowledgement
// that restarts it, and not at all when nothing is outstanding.
func restartsSeen(c *rule.Context) rule.Check {
	r, t := newRounds(c), period(c)
	apart := false // a READ with a timer of its own was sent
	return rule.Check{
		Sight: func(s *rule.Sight) {
			if !s.Point.AtRequester() {
				return
			}
			idle := c.UNA == c.MAX && c.Started && c.OutstandingReads() == 0
			begun, ok := r.sight(s)
			acked := r.timer.byProgress(s.At.Add(-begun.max))
			apart = apart || s.Point == trace.RequesterOut && readApart(s.Pkt)
			switch {
			case t == 0 || apart || s.Point != trace.RequesterOut:
			case idle && s.Relation == rule.Again && !c.Relayed(s) && !c.Port.Lags(r.reply, s.At) &&
				s.At.Sub(r.reply) > t-rule.TimerSlack(t):
				c.Failf(rule.Requester, "%s is sent again with nothing outstanding; silence expected", c.Rel(s.Pkt.PSN))
			case !ok || !begun.byTimer || !acked:
			case begun.max < t-rule.TimerSlack(t):
				c.Failf(rule.Requester, "%s is sent again %v after an acknowledgement, which did not "+
					"restart the timer of %v", c.Rel(s.Pkt.PSN), begun.max, t)
			default:
				c.Met()
			}
		},
		End: func(at vtime.Time) {
			if t > 0 && r.burst.any && c.UNA == c.MAX && c.OutstandingReads() == 0 &&
				at.Sub(r.reply) > rule.TimerSlow*t {
				c.Met()
			}
		},
	}
}

// restarts holds the restarts of a timer that a tap shows. The timer restarts with every response that acknowledges
// something and with every round. So the earliest possible restart bounds the wait from above, and the latest from
// below.
type restarts struct {
	begun   vtime.Time    // beginning of the latest round
	roused  vtime.Time    // the latest first transmission that certainly followed idleness, as far as the tap shows that
	acked   vtime.Time    // the latest progress
	earlier [2]vtime.Time // progress, the older first; a packet waits in the port for less than the time between them
	touched vtime.Time    // the latest event that may restart the timer: any response, any request
}

func (t *restarts) progress(port *rule.Port, at vtime.Time) {
	if !port.Lags(t.earlier[1], at) {
		t.earlier = [2]vtime.Time{t.earlier[1], at}
	}
	t.acked = at
}

// heard returns the latest progress that the requester had certainly processed when it made a packet that leaves at
// now.
func (t *restarts) heard(port *rule.Port, now vtime.Time) vtime.Time {
	for _, at := range []vtime.Time{t.acked, t.earlier[1]} {
		if !port.Lags(at, now) {
			return at
		}
	}
	return t.earlier[0]
}

// latest returns the latest certain restart of the timer whose expiry begins a round at now.
func (t *restarts) latest(port *rule.Port, now vtime.Time) vtime.Time {
	return max(t.begun, t.roused, t.heard(port, now))
}

// byProgress reports whether a restart of the timer was an acknowledgement.
func (t *restarts) byProgress(at vtime.Time) bool {
	return at > 0 && (at == t.acked || slices.Contains(t.earlier[:], at))
}

// timerWatch compares the reported timer with the restarts that the responses require. It judges plain acknowledgements
// only: after a NAK or a timeout nothing is in flight until the retransmission leaves, and the timer may stand still
// until a request that expects a response is sent.
type timerWatch struct {
	c      *rule.Context
	intake rule.Intake
	// the restart of the timer, by an acknowledgement while requests that expect a response are outstanding
	restart *rule.Obligation
	stop    *rule.Obligation // the stop of the timer, by an acknowledgement that leaves nothing outstanding
	una     psn.PSN          // UNA at the latest sight
	reply   rule.Debt        // the latest response
	plain   bool             // reply only acknowledges, or is the READ response expected next
	// 2 from a request for a retransmission until it begins, 1 until a packet of it expects a response, then 0
	pending int
	asked   bool       // a request that expects a response was sent
	newest  psn.PSN    // PSN of the newest such request
	runs    bool       // the timer runs, as reported
	posted  vtime.Time // the latest post
	// a READ with a timer of its own was sent: the reported timer is the earlier of two, or the READ's
	apart bool
}

func newTimerWatch(c *rule.Context) *timerWatch {
	t := &timerWatch{c: c, intake: rule.NewIntake(c), una: c.Start, newest: c.Start, posted: vtime.Never,
		restart: c.Owes(rule.Requester, "the timer is not restarted by this acknowledgement"),
		stop:    c.Owes(rule.Requester, "the timer continues with nothing outstanding")}
	t.restart.Patience, t.stop.Patience = c.Port.Wait(), c.Port.Wait() // the packet of a report may wait in the port
	return t
}

func (t *timerWatch) sight(s *rule.Sight) {
	p := s.Pkt
	t.intake.Sight(s)
	if !s.Point.AtRequester() {
		return
	}
	if s.Point == trace.RequesterOut {
		t.moved(t.c.Began(s)) // the request was no longer in the port since then, and the timer may have run for it
		t.stop.Excuse(nil)
		t.apart = t.apart || readApart(p)
		if t.pending == 2 && s.Relation == rule.Again && p.PSN.LessEq(t.c.UNA) { // not a packet of an older burst
			t.pending, t.asked = 1, false // earlier requests for a response are repeated, or no longer awaited
		}
		if p.AckReq || p.Opcode.IsRead() || p.Opcode.IsAtomic() {
			if !t.asked {
				t.newest = p.PSN
			}
			t.asked, t.newest = true, psn.Max(p.PSN, t.newest)
			t.pending &^= 1
		}
		return
	}
	t.moved(s.At)
	if p.Opcode.NumberedApart() {
		return
	}
	_, next, _, reading := t.c.OldestRead()
	t.reply = rule.Debt{PSN: p.PSN, At: s.At, Since: max(s.At, t.intake.Free()), Index: s.Index}
	t.plain = rule.IsACK(p) && !reading || p.Opcode.IsReadResponse() && reading && p.PSN == next
	if !t.plain {
		t.pending = 2
	}
}

// moved creates the obligations of the latest response if it moved UNA, which shows after its sight.
func (t *timerWatch) moved(now vtime.Time) {
	c := t.c
	judged := !c.Failed && t.pending == 0 && !t.apart
	for _, o := range []*rule.Obligation{t.restart, t.stop} {
		if !judged {
			o.Excuse(nil)
		}
		if c.UNA != t.una {
			o.Close(now)
		}
	}
	switch moved := c.UNA != t.una; {
	case !moved || !judged || !t.plain || c.Attr.TransportTimer() == 0:
	case t.asked && !t.newest.Less(c.UNA):
		t.restart.Owe(t.reply)
	case t.idle() && t.runs:
		t.stop.Owe(t.reply)
	case t.idle():
		c.Met()
	}
	t.una = c.UNA
	t.restart.Expire(now)
	t.stop.Expire(now)
}

func (t *timerWatch) idle() bool {
	return t.c.UNA == t.c.MAX && t.c.Started && t.c.OutstandingReads() == 0
}

func (t *timerWatch) event(e *trace.Event) {
	c := t.c
	if !c.Mine(e) {
		return
	}
	t.moved(e.At)
	switch e.Kind {
	case trace.Timer:
		if t.runs = e.Deadline != vtime.Never; t.runs {
			t.restart.Discharge(nil)
			// The timer may run for a request in the port.
			if t.stop.Excuse(nil); t.idle() && t.plain && t.pending == 0 && !t.apart {
				t.stop.Owe(rule.Debt{At: t.reply.At, Since: max(e.At, t.reply.Since), Index: t.reply.Index})
			}
		} else {
			t.stop.Discharge(nil)
		}
	case trace.Post:
		t.posted = e.At
	case trace.Timeout:
		t.pending = 2
		unheard := c.UNA != c.Start && c.Port.Lags(max(t.reply.At, t.intake.Free()), e.At)
		unsent := t.posted != vtime.Never && c.Port.Lags(t.posted, e.At)
		if t.idle() && !unheard && !unsent && !t.apart {
			c.Fail(rule.Requester, "the timer expires with nothing outstanding; it must be stopped")
		}
	}
}
