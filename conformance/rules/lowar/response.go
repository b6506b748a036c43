package lowar

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// reader tracks the latest recovered READ response. The transport above has it, so it must not ask for it again, unless
// its timer may have expired before.
type reader struct {
	c    *rule.Context
	any  bool       // a response was recovered
	psn  psn.PSN    // of it
	at   vtime.Time // when it was recovered
	data vtime.Time // when the latest response arrived before it, which restarts the timer
	last vtime.Time // when the latest response arrived
}

func (r *reader) sight(s *rule.Sight) {
	c, p := r.c, s.Pkt
	switch {
	case s.Point == trace.RequesterIn && s.Recovered && p.Opcode.IsReadResponse():
		c.Met()
		r.any, r.psn, r.at, r.data = true, p.PSN, s.At, r.last
	case s.Point == trace.RequesterIn:
		r.last = s.At
	case s.Point == trace.RequesterOut && r.any && p.Opcode == roce.ReadRequest && p.PSN == r.psn &&
		s.Relation == rule.Again:
		r.any = false
		if !r.expired(s.At) {
			c.Failf(rule.Requester, "asks again for %s, which was recovered %s before", c.Rel(p.PSN),
				micros(s.At.Sub(r.at)))
		}
	}
}

// expired reports whether the transport timer may have expired between the response before the recovered one and now.
func (r *reader) expired(now vtime.Time) bool {
	t := r.c.Attr.TransportTimer()
	return t != 0 && now.Sub(r.data) >= t-rule.TimerEarly(t)
}
