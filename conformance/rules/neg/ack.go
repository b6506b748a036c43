package neg

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// futureACK does not judge retransmissions: they waste time, but complete nothing.
var futureACK = rule.Rule{
	ID: "NEG-ACK-001", Level: rule.Must,
	Title: "An ACK of packets that were never sent completes nothing",
	Source: rule.Source{Ref: "IBTA 9.7.5.1.1",
		Requirement: "A response whose PSN is outside the range of outstanding requests is a ghost and is dropped"},
	Needs: rule.TapRequester | rule.Done, Sees: rule.RequestOut | rule.ResponseIn,
	Stimulus: "an ACK of packets that were never sent", BlackBox: "HW,RXE",
	New: disregards("ACK of a PSN that was never sent", true, func(c *rule.Context, s *rule.Sight) bool {
		last, ok := rule.Acknowledged(s.Pkt)
		return ok && c.Started && s.Intact() && c.Addressed(s) && c.MAX.LessEq(last)
	}),
}

var badICRCResponse = rule.Rule{
	ID: "NEG-ACK-002", Level: rule.Must,
	Title: "An ACK or NAK with a bad ICRC is ignored",
	Source: rule.Source{Ref: "IBTA 7.8",
		Requirement: "A packet that fails the invariant CRC check is discarded, responses like requests"},
	Needs: rule.TapRequester | rule.Done | rule.Bytes, Sees: rule.RequestOut | rule.ResponseIn,
	Stimulus: "a response with a bad ICRC", BlackBox: "HW,RXE",
	New: disregards("response with a bad ICRC", false, func(_ *rule.Context, s *rule.Sight) bool {
		return s.ICRC == trace.Bad
	}),
}

var reservedSyndrome = rule.Rule{
	ID: "NEG-ACK-003", Level: rule.Must,
	Title: "A reserved syndrome or NAK code is not taken for success",
	Source: rule.Source{Ref: "IBTA 9.3.5, table 43",
		Requirement: "Syndromes 010 and NAK codes above 4 are reserved and acknowledge nothing"},
	Needs: rule.TapRequester | rule.Done, Sees: rule.RequestOut | rule.ResponseIn,
	Stimulus: "an acknowledgement with a reserved syndrome or NAK code", BlackBox: "HW,RXE",
	New: disregards("acknowledgement with a reserved syndrome", true, func(_ *rule.Context, s *rule.Sight) bool {
		return s.Pkt.Opcode == roce.Acknowledge && s.Intact() && rule.IsReserved(s.Pkt.AETH.Syndrome)
	}),
}

// forgedNAK reports the behaviour of every RC transport, and never fails; the remedy is outside the transport.
var forgedNAK = rule.Rule{
	ID: "NEG-ACK-004", Level: rule.Observation,
	Title: "A forged sequence NAK inside the window, with a valid ICRC, makes the requester go back",
	Source: rule.Source{Ref: "IBTA 9.7.5.2", Requirement: "A sequence NAK is believed on its PSN alone: the ICRC is no " +
		"secret, so a third party can make a requester send again"},
	Needs: rule.TapRequester | rule.Fates, Sees: rule.RequestOut | rule.ResponseIn, Wakes: rule.Odd, Dozes: true,
	Stimulus: "a forged sequence NAK inside the window", BlackBox: "HW,RXE",
	New: func(c *rule.Context) rule.Check {
		armed, at := false, psn.PSN(0)
		return rule.Check{Sight: func(s *rule.Sight) {
			p := s.Pkt
			switch {
			case s.Point == trace.RequesterIn:
				armed = s.Rec.Fate == trace.Injected && s.Intact() && rule.IsNAK(p) && p.PSN.In(c.UNA, c.MAX)
				if at = p.PSN; armed {
					c.Met()
				}
			case armed:
				if armed = false; s.Relation == rule.Again && p.PSN == at {
					c.Failf(rule.Requester, "a forged NAK makes the requester go back to %s; no effect expected", c.Rel(at))
				}
			}
		}, Event: func(e *trace.Event) { armed = armed && (e.Kind != trace.Timeout || !c.Mine(e)) }}
	},
}
