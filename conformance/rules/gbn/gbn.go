// Package gbn holds the rules of go-back-N, the recovery of RoCEv2 reliable connections.
//
// The responder discards out-of-order packets and sends one NAK for the missing one; the requester retransmits
// everything from there on. The transport timer repairs every loss that the NAK cannot.
//
// Devices are judged at their ports. A requester that receives a NAK may have handed packets to its port before, and
// these still leave. So packets that continue the sequence within Port.Wait of the NAK are allowed.
// Bounds on timers are those of IBTA 9.7.6.1.3, up to four times the nominal value.
//
// Two switches of the ns-3 models of HPCC change the expected behaviour. A run that turns one on is judged by the
// observations made for it, and the rules that it contradicts judge nothing: see variant.go.
package gbn

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// Rules returns the family in the order of IDs.
func Rules() []rule.Rule {
	return []rule.Rule{
		goBackRounded,
		earlyDiscarded, duplicateAnswered, wasteBounded,
		nakNamesMissing, nakOnce, nakPerGap, nakInterval,
		goBackContiguous, nakAcknowledges, timeoutFromUNA, opcodeKept, oneRecovery, headLost, nakLost,
		tailLost,
	}
}

// scheme is the feature of all rules of the family.
const scheme = "gbn"

const (
	hardware = "HW,RXE" // can be judged on an RNIC and on soft-RoCE
	engines  = "ENG"    // needs a switch, or a report, that only an engine has
)

// endsRecovery reports whether the requester does not go back at once after p: it waits for a receive, or fails.
func endsRecovery(p *roce.Packet) bool {
	return rule.IsRNR(p) || rule.IsFatalNAK(p)
}
