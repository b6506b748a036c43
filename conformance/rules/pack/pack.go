// Package pack holds the rules of the pseudo-ACK WAN accelerator: a box in the path near side A ("Local") that
// acknowledges for side B ("Remote").
//
// The rules see both hops of the path at once, at the ports of the box. In addition, all rules of RC judge each hop by
// itself, so that each end sees a legal conversation. The contents of the box are read from the variables that it
// reports.
package pack

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Rules returns the family in the order of IDs.
func Rules() []rule.Rule {
	return []rule.Rule{
		bufferHolds, bufferCap, bufferFrees,
		managementPasses,
		duplicateAnswered,
		sameAsReal,
		brokenPromise,
		gapRefused,
		goodICRC,
		sameEnd,
		withinLAN,
		startFromREP, learnsFirst, forgets,
		msnAsReal,
		psnReceived,
		qpnOfLocal,
		readNotCovered, readReleases, readPasses,
		lossAbsorbed, silenceRecovered, rnrAbsorbed,
		weakened,
		realAbsorbed,
		requestsPass, bothLegal,
	}
}

// The devices that can be judged: standard endpoints around an emulated WAN, real NICs, and our box only.
const (
	emulated = "EMU"
	anyNIC   = "EMU,HW"
	engines  = "ENG"
)

// check is the part of a rule; path tracks the flow for it.
type check struct {
	sight func(s *rule.Sight, w where) // called before path processes the packet
	event func(e *trace.Event)         // called before path processes the event
	end   func(at vtime.Time)
}

// judged makes a rule of the family from its part: it sets the fields that all rules share.
func judged(r rule.Rule, make func(p *path) check) rule.Rule {
	r.Features = []string{rule.HasBox}
	r.Sees = rule.Route
	r.Needs |= rule.Both
	r.New = func(c *rule.Context) rule.Check {
		p := newPath(c)
		own := make(p)
		return rule.Check{
			Sight: func(s *rule.Sight) {
				w := p.at(s)
				if own.sight != nil {
					own.sight(s, w)
				}
				p.update(s, w)
			},
			Event: func(e *trace.Event) {
				if own.event != nil {
					own.event(e)
				}
				p.event(e)
			},
			End: own.end,
		}
	}
	return r
}

// covers returns the first PSN that an ACK or NAK does not acknowledge.
func covers(p *roce.Packet) psn.PSN {
	if rule.IsACK(p) {
		return p.PSN.Next()
	}
	return p.PSN
}

// ours is the source of a decision of this project where the paper is silent.
const ours = "this project; the paper is silent"
