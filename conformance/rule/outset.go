package rule

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// A trace finds the ends of a half-conversation in some state. Where their attributes are in force it is that of a new
// connection. A capture may begin anywhere: the first request in it may have been sent, received and answered before,
// and so may those that follow it. Until an answer tells what the responder expects, nobody knows which requests are
// new to it.

// unsure is why nothing is proved that rests on what passed before the first answer.
const unsure = "no answer had told what the responder expects: the capture may begin in the middle of a recovery, or " +
	"the requests may be for a QP that does not exist"

// certain reports whether the state of the ends was known at a time. Of a responder that never answers it never is: the
// requests may be addressed to a QP that does not exist, which a responder drops in silence.
func (c *Conversation) certain(at vtime.Time) bool {
	return c.Index < 0 || c.Known || c.ofDevice || at >= c.told
}

// AnswerSeen reports whether an answer has been seen, or the connection was new: before that nobody knows which
// requests are outstanding.
func (c *Conversation) AnswerSeen() bool { return c.Known || c.heard }

// proves reports whether a finding about something that passed at a time proves what it says.
func proves(c *Context, at vtime.Time, who Blame) bool {
	return who != Responder || !c.rule.RestsOn().Fails(validity.Capture) || c.certain(at)
}

// shows takes an answer, which may be the first that tells what the responder expects: one that refuses a request, or
// acknowledges one of those that were seen.
func (c *Conversation) shows(s *Sight) {
	last, ok := Acknowledged(s.Pkt)
	if c.Known || c.told != vtime.Never || !c.Started || !ok || !s.Intact() {
		return
	}
	expected := last.Next()
	if d := expected.Sub(c.EPSN); d > 0 && d < windowLimit && !s.Point.AtRequester() {
		c.skip(expected)
	}
	kept := c.Keeps() && (c.Held > 0 || Selective(s.Pkt)) // and who knows what else
	if !kept && (c.Start.Less(expected) || IsNAK(s.Pkt)) {
		c.told = s.At
	}
}

// skip moves what the responder expects past requests that it received before the trace began.
func (c *Conversation) skip(expected psn.PSN) {
	k := &c.responder.keep
	for p := c.EPSN; p.Less(expected) && c.Held > 0; p = p.Next() {
		if x := k.find(p); x != nil && x.waits {
			x.waits = false
			c.Held--
		}
	}
	c.EPSN, c.GapOpen = expected, c.Held > 0
	c.responder.pos = position{unsure: true}
}
