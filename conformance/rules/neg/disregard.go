package neg

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// disregard judges responses that a requester must not believe: they complete nothing and, unless obeys is set, cause
// no retransmission.
type disregard struct {
	c    *rule.Context
	what string                                    // name of the response in findings
	bad  func(c *rule.Context, s *rule.Sight) bool // reports such a response
	// obeys: another rule judges retransmissions because of the response
	obeys bool

	seen    bool       // a bad response has arrived
	asked   bool       // the latest one asked for psn, and no other reason to send it again is known
	psn     psn.PSN    // of the latest bad response
	excused bool       // a good response has asked for a retransmission, and the requester has sent nothing new since
	since   vtime.Time // arrival of that good response
	latest  vtime.Time // arrival of the latest good response, if heard
	heard   bool       // latest is set
}

func (j *disregard) check() rule.Check {
	return rule.Check{Sight: j.sight, Event: j.event, End: nil}
}

// disregards makes the check for responses that have no effect.
func disregards(what string, obeys bool, bad func(*rule.Context, *rule.Sight) bool) func(*rule.Context) rule.Check {
	return func(c *rule.Context) rule.Check {
		return (&disregard{c: c, what: what, bad: bad, obeys: obeys}).check()
	}
}

func (j *disregard) sight(s *rule.Sight) {
	switch s.Point {
	case trace.RequesterIn:
		j.response(s)
	case trace.RequesterOut:
		j.request(s)
	}
}

func (j *disregard) response(s *rule.Sight) {
	p := s.Pkt
	if j.bad(j.c, s) {
		j.c.Met()
		j.seen, j.asked, j.psn = true, rule.AsksAgain(p) && !j.excused && !j.obeys, p.PSN
		return
	}
	if !s.Intact() || !j.c.Addressed(s) {
		return
	}
	j.latest, j.heard = s.At, true
	if rule.AsksAgain(p) || p.Opcode.IsReadResponse() || rule.IsRNR(p) {
		j.excused, j.asked, j.since = true, false, s.At
	}
}

// request judges a retransmission that the bad response asked for, if no timer can have expired.
func (j *disregard) request(s *rule.Sight) {
	if s.Relation == rule.First {
		j.asked = false
		j.excused = j.excused && j.c.Port.Lags(j.since, s.At) // otherwise it was in the port when the response came
		return
	}
	if j.asked && s.Pkt.PSN == j.psn && j.beforeTimer(s) {
		j.c.Failf(rule.Requester, "%s makes the requester send %s again; no effect expected", j.what, j.c.Rel(j.psn))
	}
	j.asked = false
}

// beforeTimer reports whether the transport timer cannot have expired: less than its value has passed since the latest
// good response or the first transmission of the oldest outstanding request, whichever is later.
func (j *disregard) beforeTimer(s *rule.Sight) bool {
	since := j.latest
	if t := j.c.Sent(j.c.UNA); t != nil && (!j.heard || since < t.First) {
		since = t.First
	} else if t == nil && !j.heard {
		return false
	}
	timer := j.c.Attr.TransportTimer()
	return j.c.Known && (timer == 0 || s.At.Sub(since) < timer)
}

// event judges completions that no good response has earned.
func (j *disregard) event(e *trace.Event) {
	switch {
	case !j.c.Mine(e):
	case e.Kind == trace.Timeout:
		j.asked = false
	case e.Kind == trace.CQE && e.Body.Status == engine.StatusSuccess && j.seen && j.unearned(e.Body.PSN):
		j.seen = false
		j.c.Failf(rule.Requester, "%s completes work request %d, whose last packet %s is not acknowledged",
			j.what, e.Body.ID, j.c.Rel(e.Body.PSN))
	}
}

// unearned reports whether p is not acknowledged. It is false for READs of the extension classes, whose data have PSNs
// of their own.
func (j *disregard) unearned(p psn.PSN) bool {
	if t := j.c.Sent(p); t != nil && t.Opcode.IsRead() && t.Opcode.Class() != roce.ClassRC {
		return false
	}
	return p.In(j.c.UNA, j.c.MAX)
}
