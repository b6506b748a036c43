// Package pack holds the rules of the pseudo-ACK WAN accelerator: a box in the path near side A ("Local") that
// acknowledges for side B ("Remote").
//
// They see both hops of the path at once, at the ports of the box. That each end sees a legal conversation is judged
// besides by all rules of RC, on each hop by itself. Where a rule needs to know what the box keeps, it asks the
// variables that the box reports.
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
		bufferHolds(), bufferCap(), bufferFrees(),
		managementPasses(),
		duplicateAnswered(),
		sameAsReal(),
		brokenPromise(),
		gapRefused(),
		goodICRC(),
		sameEnd(),
		withinLAN(),
		startFromREP(), learnsFirst(), forgets(),
		msnAsReal(),
		psnReceived(),
		qpnOfLocal(),
		readNotCovered(), readReleases(), readPasses(),
		lossAbsorbed(), silenceRecovered(), rnrAbsorbed(),
		weakened(),
		realAbsorbed(),
		requestsPass(), bothLegal(),
	}
}

// Feature is what the implementation declares whose path has the box.
const Feature = "pack"

// The devices that can be judged: standard endpoints around an emulated WAN, real NICs, and our box alone.
const (
	emulated = "EMU"
	anyNIC   = "EMU,HW"
	engines  = "ENG"
)

// check is a rule's own part; path is followed for it.
type check struct {
	sight func(s *rule.Sight, w where) // before the path moves past the packet
	event func(e *trace.Event)         // before the path notes it
	end   func(at vtime.Time)
}

// judged fills in the fields that all rules of the family share.
func judged(r rule.Rule, make func(p *path) check) rule.Rule {
	r.Features = []string{Feature}
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

// covers returns the PSN before which an ACK or NAK acknowledges everything.
func covers(p *roce.Packet) psn.PSN {
	if rule.IsACK(p) {
		return p.PSN.Next()
	}
	return p.PSN
}

// ours says that the source is this project's decision where the paper says nothing.
const ours = "this project; the paper is silent"
