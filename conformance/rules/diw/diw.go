// Package diw holds the rules of datagram-iWARP (Grant et al., RDMA Capable iWARP over Datagrams): DIW for its
// datagrams and QPs, UDSR for send/receive, WREC for RDMA Write-Record.
//
// A check joins the IP fragments that pass a tap to datagrams (datagram.go), and derives from each message what a
// target that received it must do (watch.go). The target's behaviour is read from the events that it reports:
// placements, completions, declarations, losses. Of a device that reports nothing, only the datagrams can be judged.
package diw

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
)

// Rules returns the three families in the order of IDs.
func Rules() []rule.Rule {
	return []rule.Rule{
		crcPresent, crcChecked,
		controlWord, headerFields, noFraming,
		lossIsNoError, manyPeers, noConnection, neverAgain,
		datagramLimit, coverOnce,
		wholeOnly, completionOrder, reassembles, copiesHarmless, sendIsDone,
		bufferHolds,
		oldestReceive, noReceive,
		givenUp, silentPoll,
		neverMixed, logBounded,
		onLast, lastLost, lateExtends,
		mapIsUnion, mapNoMore, mapModes,
		lossModel,
		noReceiveTaken, oneEntry,
		placedOnArrival, checkedFirst,
		recordIsDone, neverAnswers,
	}
}

// scheme is the feature of all three families.
const scheme = "iwarp-ud"

// define fills in the fields that all rules share. Every check looks at packets without BTH, which belong to no class
// of RoCEv2.
func define(r rule.Rule) rule.Rule {
	r.Features, r.Sees = []string{scheme}, rule.Foreign
	if r.BlackBox == "" {
		r.BlackBox = "ENG"
	}
	return r
}

// paper is a sentence of the paper, with its section.
func paper(section, requirement string) rule.Source {
	return rule.Source{Ref: "DIW " + section, Requirement: requirement}
}
