package neg

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// disregard judges responses that a requester must not believe: nothing completes because of them, and, where obeys is
// not set, nothing is sent again.
type disregard struct {
	c    *rule.Context
	what string // the response, as findings name it
	bad  func(c *rule.Context, s *rule.Sight) bool
	// obeys says that sending again because of the response is another rule's matter.
	obeys bool

	seen    bool // a bad response has arrived
	asked   bool // the latest one asked for psn, and nothing else can be the reason to send it again
	psn     psn.PSN
	excused bool // a good response has asked for something, and the requester has not gone on since
	since   vtime.Time
	latest  vtime.Time
	heard   bool // latest is the time of the last good response
}

func (j *disregard) check() rule.Check {
	return rule.Check{Sight: j.sight, Event: j.event, End: nil}
}

// disregards makes the check for responses that change nothing.
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

// request looks whether a retransmission is what the bad response asked for, and came before any timer could expire.
func (j *disregard) request(s *rule.Sight) {
	if s.Relation == rule.First {
		j.asked = false
		j.excused = j.excused && j.c.Port.Lags(j.since, s.At) // else it was in the port when it was asked
		return
	}
	if j.asked && s.Pkt.PSN == j.psn && j.beforeTimer(s) {
		j.c.Failf(rule.Requester, "%s makes the requester send %s again; no effect expected", j.what, j.c.Rel(j.psn))
	}
	j.asked = false
}

// beforeTimer reports whether the transport timer cannot have expired: less time than it takes has passed since the
// latest good response, or since the oldest outstanding request was sent, whichever is later.
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

// event looks for completions that no good response has earned.
func (j *disregard) event(e *trace.Event) {
	switch {
	case !j.c.Mine(e):
	case e.Kind == trace.Timeout:
		j.asked = false
	case e.Kind == trace.CQE && e.Body.Status == engine.StatusSuccess && j.seen && j.unearned(e.Body.PSN):
		j.seen = false
		j.c.Failf(rule.Requester, "%s completes work request %d, whose last packet %s nobody acknowledged",
			j.what, e.Body.ID, j.c.Rel(e.Body.PSN))
	}
}

// unearned reports whether nothing has acknowledged p. Of READs of the extension classes it cannot be told: their data
// have PSNs of their own.
func (j *disregard) unearned(p psn.PSN) bool {
	if t := j.c.Sent(p); t != nil && t.Opcode.IsRead() && t.Opcode.Class() != roce.ClassRC {
		return false
	}
	return p.In(j.c.UNA, j.c.MAX)
}
