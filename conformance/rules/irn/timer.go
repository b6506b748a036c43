package irn

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

var timeoutLowHigh = define(rule.Rule{
	ID: "IRN-RTO-001", Level: rule.Must,
	Title: "RTO_low is used with N packets in flight or fewer when it expires; with more the timer runs to RTO_high",
	Source: rule.Source{Ref: recovery + "; " + hls,
		Requirement: "IRN uses a low timeout value RTO_low only when there are a small number of packets in flight, " +
			"and RTO_high otherwise; timeout: with more than N in flight RTO_low is only extended."},
	Needs: timedTap, Sees: ofSender, Stimulus: "a loss at the end of one packet, and of a long message",
	New: func(c *rule.Context) rule.Check {
		t := newTimers(c)
		return rule.Check{Sight: t.sight, Event: t.event}
	},
})

// timers measures how long the timer of the requests had run when it expired. Devices differ in the packets beside
// acknowledgements that restart it, so the wait has two bounds.
type timers struct {
	c         *rule.Context
	low, high vtime.Duration // RTO_low and RTO_high
	few       int            // N, in packets in flight
	known     bool           // low is known and not above high
	una       psn.PSN        // UNA of the requester at the latest packet
	restarted vtime.Time     // the latest certain restart: the first packet after idleness, a new ACK, a timeout
	touched   vtime.Time     // the latest packet sent or received
}

func newTimers(c *rule.Context) *timers {
	t := &timers{c: c, few: 3, una: c.Start}
	t.low, t.known = duration(c, "rto_low")
	if high, ok := duration(c, "rto_high"); ok {
		t.high = high
	} else {
		t.high = c.Attr.TransportTimer()
	}
	t.known = t.known && t.low <= t.high
	if n, ok := parameter(c, "rto_n"); ok {
		t.few = n
	}
	return t
}

func (t *timers) sight(s *rule.Sight) {
	if s.Pkt.Opcode.NumberedApart() {
		return
	}
	t.moved()
	if s.Point == trace.RequesterOut && t.c.UNA == t.c.MAX {
		t.restarted = s.At
	}
	t.touched = s.At
}

// moved records that the latest packet was an ACK that moved UNA, which shows after its sight.
func (t *timers) moved() {
	if t.una != t.c.UNA {
		t.una, t.restarted = t.c.UNA, t.touched
	}
}

func (t *timers) event(e *trace.Event) {
	if e.Kind != trace.Timeout || !t.c.Mine(e) || e.Body.PSN != t.c.UNA || t.c.UNA == t.c.MAX || !t.known {
		return
	}
	t.moved()
	flight := t.c.MAX.Sub(t.c.UNA)
	longest, shortest := e.At.Sub(t.restarted), e.At.Sub(t.touched)
	least, most := t.low, t.low
	if flight > t.few {
		least, most = t.high, t.low+t.high
	}
	switch {
	case longest < least-tolerance(least):
		t.c.Failf(rule.Requester, "the timer expires after %v with %d packets in flight; not before %v expected",
			longest, flight, least)
	case shortest > most+tolerance(most):
		t.c.Failf(rule.Requester, "the timer expires after %v with %d packets in flight; at %v expected",
			shortest, flight, most)
	default:
		t.c.Met()
	}
	t.restarted, t.touched = e.At, e.At
}

// tolerance returns how much a timer may seem fast or slow because packets wait between the engine and the tap.
func tolerance(d vtime.Duration) vtime.Duration { return d/10 + 20*vtime.Microsecond }
