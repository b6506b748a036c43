package gb1

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var timeoutGoesBack = rule.Rule{
	ID: "GB1-RTO-001", Level: rule.Must,
	Title: "A retransmission that is lost too is repaired by the timer: from the oldest " +
		"unacknowledged packet on, in order",
	Source: rule.Source{Ref: "GB1 Algorithm 1, lines 9 to 11; HPCC", Requirement: "qp.m_retransEvent.Cancel(), " +
		"qp.ReScheduleTimeoutTimer(): what the RACKs do not repair is left to HPCC's timer, which recovers the whole queue."},
	Needs: rule.Both | rule.Fates | rule.Attributes, Sees: rule.RequestOut | rule.ResponseIn,
	Features: features,
	Stimulus: "a lost request whose retransmission is lost too", BlackBox: engines,
	New: func(c *rule.Context) rule.Check {
		t := timeouts{c: c, m: newModel(c), rack: vtime.Never, again: c.Owes(rule.Requester,
			"%s is never sent again after the loss of its retransmission")}
		t.m.expired = t.expired
		t.again.Within = rule.TimerSlow * c.Attr.TransportTimer()
		t.again.Unless = func(d rule.Debt) bool { return d.PSN.Less(c.UNA) || c.Attr.TransportTimer() == 0 }
		return rule.Check{Sight: t.sight, Event: t.m.event}
	},
}

// timeouts tracks the requester from a lost retransmission over the timeout until it sends something new.
type timeouts struct {
	c     *rule.Context
	m     *model
	again *rule.Obligation // to retransmit the packets that were lost twice
	back  bool             // go-back-N was in force when the timer expired
	port  []wanted         // packets that RACKs had asked for then, which may be in the port
	fired bool             // the timer expired, and no RACK has arrived since
	rack  vtime.Time       // arrival of the latest RACK; Never before
	since vtime.Time       // when it expired
	begun bool             // the retransmission has begun
	may   bool             // it may have begun, with a packet that may also have been in the port
	next  psn.PSN          // PSN after the latest request
}

func (t *timeouts) sight(s *rule.Sight) {
	c, p := t.c, s.Pkt
	t.again.Excuse(func(d rule.Debt) bool { return d.PSN.Less(c.UNA) })
	if s.Point == trace.RequesterIn {
		if t.m.response(s); isRACK(p) {
			t.fired, t.rack = false, s.At // from now on RACKs decide what is sent
		}
		t.again.Restart(s.At)
		return
	}
	t.m.sent(s)
	if t.fired {
		t.follow(s)
	}
	t.next = p.PSN.Add(max(1, c.Span(p)))
	if s.Relation == rule.Again && s.Rec.Lost() && rule.IsData(p.Opcode) {
		t.again.Excuse(nil)
		t.again.Arise(s, p.PSN)
	}
}

// follow judges a request that leaves after a timeout.
func (t *timeouts) follow(s *rule.Sight) {
	c, p := t.c, s.Pkt.PSN
	// It was the oldest when it entered the port, or follows one that was.
	t.may = p.Less(c.UNA) && !p.Less(t.m.settled(s.At)) || t.may && p == t.next
	switch {
	case !t.begun && p == c.UNA:
		t.begun = true
		if t.again.Owed() {
			c.Met()
		}
	case !t.begun && c.Port.Lags(t.since, s.At) && (s.Relation == rule.First || t.asked(p) || t.back && p == t.next):
		return // it was in the port already
	case !t.begun && t.may:
		t.begun = true
	case s.Relation == rule.First:
		t.fired = false
		if !t.begun {
			c.Failf(rule.Requester, "%s is sent for the first time after a timeout, unacknowledged since %s",
				c.Rel(p), c.Rel(c.UNA))
		}
		return
	case !t.begun:
		t.fired = false
		c.Failf(rule.Requester, "after a timeout %s is sent, unacknowledged since %s", c.Rel(p), c.Rel(c.UNA))
	case t.m.one && t.asked(p): // the timer sends only the oldest again, and RACKs may have asked for p
	// p.Less(c.UNA) is right for a READ whose response is missing
	case p != t.next && (c.UNA.Less(p) || p.Less(t.m.settled(s.At))):
		t.fired = false
		c.Failf(rule.Requester, "%s is sent after a timeout; %s is next", c.Rel(p), c.Rel(t.next))
	}
}

// asked reports whether RACKs had asked for p when the timer expired, or may have while the model was void.
func (t *timeouts) asked(p psn.PSN) bool {
	return t.back && p.Less(t.m.crt) || slices.ContainsFunc(t.port, func(w wanted) bool { return w.psn == p })
}

func (t *timeouts) expired(at vtime.Time) {
	t.fired, t.since, t.begun, t.may = t.rack == vtime.Never || t.rack <= at, at, false, false
	t.port, t.back = slices.Clone(t.m.list), t.m.void
}

var lossFree = rule.Rule{
	ID: "GB1-NRM-001", Level: rule.Must,
	Title: "Without loss the scheme behaves as go-back-N: no RACK, and nothing sent again",
	Source: rule.Source{Ref: "GB1 IV-B", Requirement: "If a normal ACK is received, the minimum transmission " +
		"unit is added to the serial number of the sent packet according to the normal sending process."},
	Needs: rule.Both | rule.Fates, Sees: rule.Requests | rule.Responses | rule.RepairOut, Features: features,
	Stimulus: "a run, or the part of one, without loss", BlackBox: engines,
	New: func(c *rule.Context) rule.Check {
		calm, any := true, false
		var o [4]order
		return rule.Check{
			Sight: func(s *rule.Sight) {
				disturbed := s.Rec.Lost() || s.Rec.Copy || s.Rec.Fate == trace.Injected ||
					s.Rec.Fate == trace.Unknown || s.Pkt.AETH.Syndrome.IsRNR() ||
					s.Out && o[s.Point&3].broken(s.Rec) || mayBeTimer(c, s)
				switch calm = calm && !disturbed; {
				case !calm:
				case s.Point == trace.ResponderOut && isRACK(s.Pkt):
					c.Failf(rule.Responder, "RACK of %s, but nothing is lost", c.Rel(s.Pkt.SACK.PSN))
				case s.Relation == rule.Again && s.Point == trace.RequesterOut:
					c.Failf(rule.Requester, "%s is sent again, but nothing is lost", c.Rel(s.Pkt.PSN))
				case s.Point == trace.ResponderOut:
					any = true
				}
			},
			// A path slower than the timer also causes timeouts in go-back-N.
			Event: func(e *trace.Event) { calm = calm && e.Kind != trace.Timeout },
			End: func(vtime.Time) {
				if any {
					c.Met()
				}
			},
		}
	},
}

// mayBeTimer reports whether the timer may have caused a retransmission, where timeouts are not reported: the path may
// be slower than the timer.
func mayBeTimer(c *rule.Context, s *rule.Sight) bool {
	if c.Offers(rule.Timers) || s.Point != trace.RequesterOut || s.Relation != rule.Again {
		return false
	}
	t := c.Attr.TransportTimer()
	return s.Sent == nil || !c.Known || t == 0 || s.At.Sub(s.Sent.Latest) >= t-rule.TimerEarly(t)
}
