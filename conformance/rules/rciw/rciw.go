// Package rciw holds the rules of iWARP on a reliable connection: MPA's framing, DDP's numbers, RDMAP's READ and
// Terminate, and the order in which TCP makes messages visible.
//
// A check reads the connection twice (watch.go): as each end sends it, and as it arrives at each end, where a lost
// segment is a hole. It judges the stream of one side, the requester of its half-conversation, and the other end's
// treatment of it. The use of memory and queues is read from the events that an end reports.
package rciw

import "github.com/rdma-gauntlet/gauntlet/conformance/rule"

// Rules returns the family in the order of IDs.
func Rules() []rule.Rule {
	return []rule.Rule{msnCounts, headOfLine, fpduForm, markersPlaced, wrongCRC, writeVisible, readForm, invalidSTag}
}

// scheme is the feature of the family.
const scheme = "rciw"

// define fills in the fields that all rules share. Every check looks at packets without BTH, which belong to no class
// of RoCEv2.
func define(r rule.Rule) rule.Rule {
	r.Features, r.Sees = []string{scheme}, rule.Foreign
	if r.BlackBox == "" {
		r.BlackBox = "SIW,HW"
	}
	return r
}
