package fasr

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/selective"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// clock follows the timer of a requester that does not report timeouts.
type clock struct {
	c     *rule.Context
	timer selective.Timer
	heard rule.Heard // UNA, as far as the requester knows it
	reply vtime.Time // arrival of the latest answer
}

func newClock(c *rule.Context) clock {
	rtt, _ := vtime.ParseDuration(c.Attr.Params["rtt"])
	return clock{c: c, timer: selective.NewTimer(c, rtt), heard: rule.HeardOf(c.Start)}
}

// sight processes a packet. That an answer has moved UNA shows after its sight.
func (k *clock) sight(s *rule.Sight) {
	if una := k.c.UNA; una != k.heard.Newest() {
		k.heard.Moved(una, k.reply)
		k.timer.Starts(una, k.reply)
	}
	switch {
	case s.Point == trace.RequesterIn:
		k.reply = s.At
	case k.c.UNA == k.c.MAX:
		k.timer.Starts(k.c.UNA, s.At)
	}
}

// expires is Expires of the timer.
func (k *clock) expires(s *rule.Sight) (at vtime.Time, ok bool) {
	return k.timer.Expires(s, k.heard.Sure(k.c.Port, s.At))
}
