package gbn

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// interval returns the nack_interval of the responder: the time after which it repeats a sequence NAK. Zero, the
// default and the standard, means one NAK per gap.
func interval(c *rule.Context) vtime.Duration {
	text, unknown := c.Given(rule.Responder, "nack_interval")
	if unknown {
		return vtime.Nanosecond // it repeats NAKs, at an unknown interval
	}
	if text == "" { // return early: interval is called for every packet
		return 0
	}
	d, _ := vtime.ParseDuration(text) // a wrong value is no interval
	return d
}

var nakInterval = rule.Rule{
	ID: "GBN-NAK-004", Level: rule.Observation,
	Title: "With nack_interval, the NAK of a gap repeats no more often than that",
	Source: rule.Source{Ref: "HPCC ns-3 model, NACK interval", Requirement: "The receiver repeats the NACK of a gap " +
		"when the interval has passed since the last one, or when the expected number has changed."},
	Needs: rule.TapResponder | rule.Attributes, Sees: rule.ResponseOut, Features: []string{scheme, "nack_interval"},
	Stimulus: "a lost request whose first retransmission is lost too", BlackBox: engines,
	New: func(c *rule.Context) rule.Check {
		var named psn.PSN
		at := vtime.Never
		return rule.Check{Sight: func(s *rule.Sight) {
			if s.Point != trace.ResponderOut || !rule.IsNAK(s.Pkt) || interval(c) == 0 {
				return
			}
			if at != vtime.Never && s.Pkt.PSN == named {
				c.Met()
				if since := s.At.Sub(at); since < interval(c) {
					c.Failf(rule.Responder, "NAK of %s repeats after %v, the interval is %v", c.Rel(named), since, interval(c))
				}
			}
			named, at = s.Pkt.PSN, s.At
		}}
	},
}

var goBackRounded = rule.Rule{
	ID: "GBN-BT0-001", Level: rule.Observation, Rests: validity.Sequence,
	Title: "With backto0, the requester goes back to the last multiple of the chunk before the missing packet",
	Source: rule.Source{Ref: "HPCC ns-3 model, m_backto0",
		Requirement: "A NACK moves the sender back to the beginning of the chunk that the missing byte lies in."},
	Needs: rule.TapRequester | rule.Attributes, Sees: rule.RequestOut | rule.ResponseIn,
	Features: []string{scheme, "backto0"},
	Stimulus: "a lost request in the middle of a chunk", BlackBox: engines,
	New: func(c *rule.Context) rule.Check {
		var want psn.PSN
		armed := false
		return rule.Check{Sight: func(s *rule.Sight) {
			if s.Point == trace.RequesterIn {
				if t := c.Sent(s.Pkt.PSN); rule.IsNAK(s.Pkt) && s.Intact() && t != nil && c.GoBackChunk() > 0 &&
					c.MTU > 0 && rule.IsData(t.Opcode) {
					armed, want = true, c.GoBackPoint(s.Pkt.PSN)
				}
				return
			}
			if !armed || s.Relation != rule.Again {
				return
			}
			armed = false
			c.Met()
			if s.Pkt.PSN != want {
				c.Failf(rule.Requester, "goes back to %s, the chunk begins at %s", c.Rel(s.Pkt.PSN), c.Rel(want))
			}
		}}
	},
}
