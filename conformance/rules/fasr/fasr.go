// Package fasr holds the rules of FaSR (Huang et al., Fast and Scalable Selective Retransmission for RDMA).
//
// Two reference machines are derived from the wire alone: what a receiver must answer to the packets that reached it
// (package selective), and what a sender must send again after the answers that reached it (sender.go). Rules compare a
// device with them. Where the paper speaks of state that no packet shows, such as the pool, the rules read the
// variables that an engine reports, by the paper's names (probe.go).
//
// Devices are judged at their ports, so packets that had left the engine before it heard of a loss still leave:
// rule.Handed new packets are allowed. A device whose pool is exhausted goes back N, which is right; from then on,
// until the recovery is over, its answers are not compared, and its retransmissions never again.
package fasr

import (
	"strconv"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// Rules returns the family in the order of IDs.
func Rules() []rule.Rule {
	return []rule.Rule{
		fillAcknowledged,
		fastHoldsNoBlock, fastJumps, isolatedCostsOne,
		fnackNames, fnackActs, fnackOnce,
		enterCounts, gapCounts, fillCounts, sackCarriesCount, overflowFreezes, overflowOpcode,
		nothingWithoutLoss,
		placeable,
		unitsInUse, poolSize, exhaustedGoesBack, recordedKept, poolSuffices,
		readAcknowledged,
		timeoutSlow, timeoutFast, timeoutWindow,
		slowRecords, slowEndsAtOne, compression, blocksFollow,
		firstSACKAll, gapExactly, lostSACKNothing, overflowGap, countIsReceivers, retransmissionsFirst,
	}
}

// scheme is the feature of the whole family.
const scheme = "fasr"

// engines are the devices that can be judged: the opcodes are this project's.
const engines = "ENG"

// maxLost is the largest value of lost-cnt, which has three bits.
const maxLost = 7

// define fills in the fields that all rules of the family share.
func define(r rule.Rule) rule.Rule {
	r.Features, r.BlackBox = []string{scheme}, engines
	return r
}

// isSACK reports a SACK, with overflow or without.
func isSACK(p *roce.Packet) bool {
	return p.Opcode == roce.FaSRSack || p.Opcode == roce.FaSRSackOverflow
}

// parameter returns a whole-number parameter of the scheme at the responder's end; both ends have the same.
func parameter(c *rule.Context, name string, def int) int {
	if n, err := strconv.Atoi(c.PeerAttr.Params[name]); err == nil {
		return n
	}
	return def
}

// switched reports a parameter of the scheme that is true.
func switched(c *rule.Context, name string) bool {
	on, err := strconv.ParseBool(c.PeerAttr.Params[name])
	return err == nil && on
}
