package apn

import (
	"math"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
)

// judgeDepth compares the depth in force with the formula. APN-QD-005 judges a depth that the device does not have.
func judgeDepth(c *rule.Context, unit string) {
	want, known := formula(c.Attr)
	if !known || want > float64(capOf(c.Attr)) {
		return
	}
	if got := c.Attr.QueueDepth; float64(got) < math.Floor(want) || float64(got) > deepest(c.Attr, want) {
		c.Failf(rule.Requester, "queue depth %d, want %.0f to %.0f: the path is %.2f %s long", got, math.Floor(want),
			deepest(c.Attr, want), want, unit)
		return
	}
	c.Met()
}

// deepest returns the largest right depth when the formula gives want. A message is outstanding while it crosses the
// path, and also while it is sent and acknowledged; a queue may count that too, unless it is declared as the rounded
// formula.
func deepest(q *engine.QP, want float64) float64 {
	switch q.Params["round"] {
	case "ceil", "floor":
		return max(1, math.Ceil(want))
	}
	return math.Ceil(want+float64(answer)/float64(frameOf(q))) + 1
}

// answer is the layer-1 length in bytes of the longest packet without payload that an acknowledgement may wait for in
// the other direction: a READ request.
const answer = overhead + 16

// once makes a check that judges at the first request only.
func once(judge func(c *rule.Context)) func(*rule.Context) rule.Check {
	return func(c *rule.Context) rule.Check {
		done := false
		return rule.Check{Sight: func(*rule.Sight) {
			if !done {
				done = true
				judge(c)
			}
		}}
	}
}

var printedDepth = define(rule.Rule{
	ID: "APN-QD-001", Level: rule.Must, Rests: validity.Sequence,
	Title: "The depth is RTT x line speed / frame: 2991 for 1 ms, 100 Gb/s and 4178 bytes, rounded down or up, or " +
		"with the time to send and acknowledge a message",
	Source: rule.Source{Ref: "NTT 4.1",
		Requirement: "For 100 km, an ideal QD is about 2991 when the total frame size is 4178."},
	Stimulus: "a path of known length and rate", BlackBox: engines,
	New: once(func(c *rule.Context) {
		if int(c.Attr.Path.Message) <= c.Attr.MTU {
			judgeDepth(c, "frames")
		}
	}),
})

// mistakes are the factors of a depth with a wrong unit.
var mistakes = []struct {
	factor float64
	what   string
}{
	{8, "bits are taken for bytes"}, {1.0 / 8, "bytes are taken for bits"},
	{1000, "milliseconds are taken for seconds"}, {1e-3, "the rate is taken in thousands"},
	{2, "the round trip is counted twice"}, {0.5, "one way is taken for the round trip"},
}

var unitsOfDepth = define(rule.Rule{
	ID: "APN-QD-002", Level: rule.Must, Rests: validity.Sequence,
	Title: "The RTT is taken in seconds, the line speed in bit/s, the frame in bytes of 8 bits; a path without " +
		"length or rate is refused",
	Source:   rule.Source{Ref: "NTT 4.1", Requirement: "QD = RTT * Line Speed / Total Frame Size."},
	Stimulus: "a path of several frames", BlackBox: engines,
	New: once(judgeUnits),
})

// judgeUnits judges whether the depth is wrong by the factor of a unit.
func judgeUnits(c *rule.Context) {
	want, known := formula(c.Attr)
	if !known {
		c.Failf(rule.Requester, "requests are sent over a path of RTT %v and rate %v, which has no "+
			"depth; a refusal expected", c.Attr.Path.RTT, c.Attr.Path.Rate)
		return
	}
	if want < 4 || want > float64(capOf(c.Attr)) {
		return // rounding or the cap hides a factor
	}
	for _, m := range mistakes {
		if ratio := float64(c.Attr.QueueDepth) / (want * m.factor); ratio > 0.9 && ratio < 1.1 {
			c.Failf(rule.Requester, "queue depth %d, want about %.0f: %s", c.Attr.QueueDepth, want, m.what)
			return
		}
	}
	c.Met()
}

var deviceCap = define(rule.Rule{
	ID: "APN-QD-005", Level: rule.MustNot, Rests: validity.Sequence,
	Title: "Outstanding work requests never exceed the device's cap; a depth above the cap is cut to the cap",
	Source: rule.Source{Ref: "NTT 4.1", Requirement: "Since memory resources on a SmartNIC are limited, it is " +
		"assumed that there should be an upper bound in the amount of configurable QD."},
	Needs: rule.TapRequester | rule.Attributes, Stimulus: "a path longer than the device is deep", BlackBox: engines,
	New: func(c *rule.Context) rule.Check {
		var m rule.Outstanding
		return rule.Check{Sight: func(s *rule.Sight) {
			if s.Relation != rule.First {
				return
			}
			m.Answered(c)
			m.Request(c, s)
			switch most := capOf(c.Attr); {
			case m.Count() > most && s.Pkt.Opcode.StartsMessage():
				c.Failf(rule.Requester, "%d requests are outstanding, want at most %d, which the device holds", m.Count(), most)
			case m.Count() == most:
				c.Met()
			}
		}}
	},
})

var countedInMessages = define(rule.Rule{
	ID: "APN-QD-006", Level: rule.Must, Rests: validity.Sequence,
	Title: "For messages of several packets the depth counts messages",
	Source: rule.Source{Ref: "NTT 4.1; IBTA 10.8.2",
		Requirement: "An entry of a send queue is a work request, which is a message and not a packet."},
	Stimulus: "messages longer than the MTU", BlackBox: engines,
	New: once(func(c *rule.Context) {
		if int(c.Attr.Path.Message) > c.Attr.MTU {
			judgeDepth(c, "messages")
		}
	}),
})

var receivesForSends = define(rule.Rule{
	ID: "APN-QD-008", Level: rule.Should, Rests: validity.Sequence,
	Title: "A queue of SENDs deeper than the peer's receive queue is reported: SENDs may meet it empty",
	Source: rule.Source{Ref: "IBTA 9.7.5.2.8", Requirement: "A SEND that finds no receive work request posted is " +
		"answered with an RNR NAK, and is sent again."},
	Needs: rule.TapRequester | rule.Attributes, Stimulus: "SENDs", BlackBox: engines,
	New: func(c *rule.Context) rule.Check {
		reported := false
		return rule.Check{Sight: func(s *rule.Sight) {
			if reported || !s.Pkt.Opcode.IsSend() {
				return
			}
			reported = true
			switch q, r := c.Attr.QueueDepth, c.PeerAttr.ReceiveDepth; {
			case r == 0: // unknown, as in every capture
			case q > r:
				c.Failf(rule.Requester, "%d SENDs may be outstanding, want at most %d, the receives that the "+
					"peer can have posted", q, r)
			default:
				c.Met()
			}
		}}
	},
})
