package timeout

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Clock is the Timer of a requester whose oldest packet is that of the Conversation.
type Clock struct {
	c     *rule.Context
	timer Timer
	heard rule.Heard // UNA, as far as the requester knows it
	reply vtime.Time // arrival of the latest response
	begun bool       // the PSN of the first request is known: heard is valid
}

// NewClock returns the Clock of the requester, see NewTimer. The timer of a packet that is in flight already may have
// run since it was sent.
func NewClock(c *rule.Context, others ...vtime.Duration) *Clock {
	k := &Clock{c: c, timer: NewTimer(c, others...), heard: rule.HeardOf(c.UNA), begun: c.Started}
	if t := c.Sent(c.UNA); t != nil {
		k.timer.Starts(c.UNA, t.First)
	}
	return k
}

// Sight processes a packet. That a response has moved UNA shows after its sight.
func (k *Clock) Sight(s *rule.Sight) {
	if !k.begun {
		k.heard, k.begun = rule.HeardOf(k.c.UNA), k.c.Started
	}
	if una := k.c.UNA; una != k.heard.Newest() {
		k.heard.Moved(una, k.reply)
		k.Sure(k.reply) // so that it keeps no earlier moves
		k.timer.Starts(una, k.reply)
	}
	switch {
	case s.Point == trace.RequesterIn:
		k.reply = s.At
	case s.Point == trace.RequesterOut && k.c.UNA == k.c.MAX:
		k.timer.Starts(k.c.UNA, s.At)
	}
}

// Sure returns the UNA that the requester certainly knew when it made a packet that leaves its port now.
func (k *Clock) Sure(now vtime.Time) psn.PSN { return k.heard.Sure(k.c.Port, now) }

// Expires is Expires of the Timer.
func (k *Clock) Expires(s *rule.Sight) (at vtime.Time, ok bool) {
	return k.timer.Expires(s, k.Sure(s.At))
}
