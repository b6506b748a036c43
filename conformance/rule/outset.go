package rule

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// This file tracks whether the state of the ends at the beginning of a trace is known. If their attributes are in
// force, it is the state of a new connection. A capture may begin anywhere: its first requests may have been sent,
// received and answered before. Until an answer shows the expected PSN of the responder, it is unknown which requests
// are new to the responder.

// unsure is the reason why a finding that rests on packets before the first answer proves nothing.
const unsure = "no answer had shown the expected PSN of the responder: the capture may begin in the middle of a " +
	"recovery, or the requests may be for a QP that does not exist"

// Certain reports whether the state of the ends was known at a time. For a responder that never answers it never is:
// the requests may be for a QP that does not exist, and such requests are dropped without an answer.
func (c *Conversation) Certain(at vtime.Time) bool {
	return c.Index < 0 || c.Known || c.ofDevice || at >= c.told
}

// Unsettled reports whether, at a time, the responder may still answer requests that arrived before the first answer
// that told what it expects: they may have been received before the capture, so that each draws an answer of its own.
func Unsettled(c *Context, at vtime.Time) bool {
	return c.Index >= 0 && !c.Known && !c.ofDevice && (at < c.told || at.Sub(c.told) <= Patience)
}

// AnswerSeen reports whether a response has been seen or the connection was new; otherwise it is unknown which requests
// are outstanding.
func (c *Conversation) AnswerSeen() bool { return c.Known || c.heard }

// unproven returns why a finding about an event at a time, which a record shows, is no proof; "" when it is one. If the
// rule rests on a complete capture, one against a responder proves nothing while the state of the ends is unknown, and
// one against an end proves nothing while its other QPs may hold what its decoder lacks, or no longer hold what it has,
// nor after the end has sent frames that cannot be read.
func unproven(c *Context, at vtime.Time, record uint64, who Blame) string {
	switch complete := c.rule.RestsOn().Fails(validity.Capture); {
	case complete && who == Responder && !c.Certain(at):
		return unsure
	case complete && spoilt(c, who, record):
		return unreadWhy
	case complete && c.Index >= 0 && c.Decoders[0] != nil && hoards(c.owner, sideOf(c.Conversation, who)):
		return hoarded
	case complete && c.Decoders[0] != nil && (c.Decoders[0].Blind || c.Decoders[1].Blind):
		return "packets may have been recovered from repair packets, whose bytes the trace lacks"
	case complete && divined(c, who):
		return "new parameters (r, c) came without their announcement, and a receiver need not take them from repair packets"
	case c.rule.Needs&Frames != 0 && unchecked(c.judge, record):
		return "a frame of which the capture kept a part is not as expected: sent so, or damaged before the tap, whose " +
			"place was inferred"
	}
	return preceded(c, at, record)
}

// divined reports whether an end decodes with parameters that it may know from repair packets alone.
func divined(c *Context, who Blame) bool {
	d := c.Decoders[1]
	if who == Responder {
		d = c.Decoders[0]
	}
	return d != nil && d.Divined
}

// unchecked reports whether the current packet shows a finding, may have been damaged before its tap, and was not
// captured far enough to check its ICRC.
func unchecked(j *Judge, record uint64) bool {
	return record != NoRecord && record == j.here.record && j.header.Inferred && j.header.Bytes &&
		j.sight.ICRC == trace.Unchecked
}

// preceded returns why a finding may rest on what was before a doubt ends; "" when it does not. An absence shows at no
// record when it began.
func preceded(c *Context, at vtime.Time, record uint64) string {
	if c.owner == nil || c.Index < 0 {
		return ""
	}
	d := c.owner.header.Conns[c.Index].Doubtful(c.Req)
	if d.Until == 0 || at > d.Until && record != NoRecord || !c.rule.RestsOn().Fails(d.Fails) ||
		doubtedTaps(&d, c.Req)&c.rule.taps() == 0 {
		return ""
	}
	return d.Why
}

// shows processes a response, which may be the first that shows the expected PSN of the responder: one that refuses a
// request, or that acknowledges a request that was seen. Data may be repeated for a request that was executed long ago,
// so that the first answer of another kind shows more.
func (c *Conversation) shows(s *Sight) {
	last, ok := Acknowledged(s.Pkt)
	data := s.Pkt.Opcode != roce.Acknowledge
	if c.Known || c.sure || data && c.told != vtime.Never || !c.Started || !ok || !s.Intact() {
		return
	}
	expected := last.Next()
	d := expected.Sub(c.EPSN)
	beyond := d > 0 && d < windowLimit && !s.Point.AtRequester()
	switch early := untold(c) && expected.Less(c.EPSN) && !s.Point.AtRequester(); {
	case beyond:
		c.skip(expected)
	case early && c.again:
		return // requests beyond may not have been received when they were seen first, and a NAK may be late
	case early && IsNAK(s.Pkt) && expected.Less(c.Start):
		expectAgain(c, expected)
	}
	kept := c.Keeps() && (c.Held > 0 || Selective(s.Pkt)) // it may hold other requests as well
	if kept || !c.Start.Less(expected) && !IsNAK(s.Pkt) {
		return
	}
	c.sure = !data
	if c.told == vtime.Never || beyond {
		c.told = s.At
	}
}

// untold reports whether EPSN is that of a responder which accepted the first request of the trace when it was seen
// first, and no answer has shown that it did. One that keeps what comes early says so.
func untold(c *Conversation) bool {
	return c.Index >= 0 && !c.Known && !c.ofDevice && c.told == vtime.Never && !c.Keeps()
}

// expectAgain takes EPSN back to a request that a NAK names before an answer has told what is expected: those after it
// came early, and were dropped, each time that the trace has them.
func expectAgain(c *Conversation, p psn.PSN) {
	c.EPSN, c.MSN, c.GapOpen = p, 0, true
	c.responder.pos, c.responder.bad = position{unsure: true}, false
}

// skip advances EPSN past requests that the responder received before the trace began.
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
