// Package gbn holds the rules of go-back-N: what RoCEv2 reliable connections do when a packet is missing.
//
// The responder discards what comes early and asks once, with a NAK, for what is missing; the requester goes back to it
// and sends everything from there on again. Whatever the one NAK cannot repair is left to the transport timer.
//
// Devices are judged at their ports. A requester that receives a NAK may have handed packets to its port before, and
// these still leave: packets that merely continue the sequence within Port.Wait of the NAK are not held against it.
// Bounds on timers are those of IBTA 9.7.6.1.3, up to four times the nominal value.
//
// Two switches of the ns-3 models of HPCC change what is right; a run that turns one on is judged by the observations
// made for it, and the rules that it contradicts stay silent: see variant.go.
package gbn

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// Rules returns the family in the order of IDs.
func Rules() []rule.Rule {
	return []rule.Rule{
		goBackRounded(),
		earlyDiscarded(), duplicateAnswered(), wasteBounded(),
		nakNamesMissing(), nakOnce(), nakPerGap(), nakInterval(),
		goBackContiguous(), nakAcknowledges(), timeoutFromUNA(), opcodeKept(), oneRecovery(), headLost(), nakLost(),
		tailLost(),
	}
}

// scheme is the feature of the whole family.
const scheme = "gbn"

const (
	hardware = "HW,RXE" // can be judged on an RNIC and on soft-RoCE
	engines  = "ENG"    // needs a switch, or a report, that only an engine has
)

// endsRecovery reports a response after which the requester does something else than go back at once: wait for a
// receive, or fail.
func endsRecovery(p *roce.Packet) bool {
	return rule.IsRNR(p) || rule.IsFatalNAK(p)
}
