package rule

import (
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// This file follows the life of a QP that does not report how its requests end. A requester whose oldest unanswered
// request has had all its retries gives up when its timer expires; then the QP is silent, as a responder too. It takes
// no answer that arrives later, so only a packet of its own shows that it has not given up.

// lives records a packet that an end of c has sent. One that was in the port when the answer arrived shows nothing.
func lives(c *Conversation, s *Sight) {
	who := Responder
	if s.Point.AtRequester() {
		who = Requester
	}
	port, own := endOf(c, who)
	switch {
	case !own.spent:
	case !own.answered:
		own.lived = micros(s.At)
	case since(micros(s.At), own.reply) > port.Wait():
		own.spent, own.answered = false, false
	}
}

// spends records a request that its requester has sent.
func spends(c *Conversation, s *Sight) {
	if own := &c.turns[c.Req&1]; spent(c) {
		own.spent, own.answered, own.lived = true, false, micros(s.At)
	}
}

// eases records a response that has reached the requester.
func eases(c *Conversation, s *Sight) {
	if own := &c.turns[c.Req&1]; own.spent && !own.answered && !spent(c) {
		own.answered, own.reply = true, micros(s.At)
	}
}

// spent reports whether the oldest unanswered request, or the oldest READ that lacks data, has been sent again as often
// as the requester may, or perhaps may: a QP whose attributes are unknown may have no retries.
func spent(c *Conversation) bool {
	r, most := &c.requester, 0
	if c.Known {
		if most = int(c.Attr.RetryCount); r.refused {
			most = min(most, int(c.Attr.RNRRetry))
		}
	}
	if p, ok := c.Reads.Oldest(); ok {
		if t := c.Sent(p); t == nil || int(t.Times) > most {
			return true
		}
	}
	return c.UNA.Less(c.MAX) && (most == 0 || r.stuck == c.UNA && int(r.rounds) >= most)
}

// mayHaveGivenUp reports whether the QP of a side may have given up its requests before a time, and does not report it.
func mayHaveGivenUp(c *Conversation, side trace.Side, before vtime.Time) bool {
	return givesUpUntold(c, side) && int32(micros(before)-c.turns[side&1].lived) > 0
}

// givesUpUntold reports whether the QP of a side may have given up its requests, and does not report it.
func givesUpUntold(c *Conversation, side trace.Side) bool {
	reported := c.Known && c.owner != nil && c.owner.header.Reports&trace.ReportCQE != 0
	return c.turns[side&1].spent && !reported
}

// hoarded is the reason why a finding that depends on the buffers of a coding shim proves nothing.
const hoarded = "a QP of this end may have given up its requests, and what it held of the few coding units and slots " +
	"that all QPs of the end share may be free"

// hoards reports whether the decoders of a side share buffers that are scarce, and one of its QPs may have given up and
// freed some.
func hoards(j *Judge, side trace.Side) bool {
	if !j.buffers[side].Scarce() {
		return false
	}
	for i := range j.halves {
		for _, h := range j.halves[i] {
			if h != nil && givesUpUntold(&h.conv, side) {
				return true
			}
		}
	}
	return false
}
