// Package fasr holds the rules of FaSR (Huang et al., Fast and Scalable Selective Retransmission for RDMA).
//
// Two reference machines are derived from the wire alone: the answers that a receiver owes to the packets that reached
// it (package selective), and the packets that a sender must send again after the answers that reached it (sender.go).
// Rules compare a device with them. State of the paper that no packet shows, such as the pool, is read from the
// variables that an engine reports, by the paper's names (probe.go). A sender that reports nothing is judged too: its
// timeouts follow from the attributes, and whether its pool suffices from what is in flight (pool.go).
//
// Devices are judged at their ports. Packets that left the engine before it processed a loss still leave, so
// rule.Handed new packets are allowed. A device whose pool is exhausted correctly goes back N. From then on its answers
// are not compared until the recovery ends, and its retransmissions are never compared again.
package fasr

import (
	"strconv"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/timeout"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
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

// scheme is the feature of all rules of the family.
const scheme = "fasr"

// engines are the devices that can be judged: this project defines the opcodes.
const engines = "ENG"

// maxLost is the largest value of lost-cnt, which has three bits.
const maxLost = 7

// define fills in the fields that all rules of the family share.
func define(r rule.Rule) rule.Rule {
	r.Features, r.BlackBox = []string{scheme}, engines
	return r
}

// isSACK reports whether p is a SACK, with overflow or without.
func isSACK(p *roce.Packet) bool {
	return p.Opcode == roce.FaSRSack || p.Opcode == roce.FaSRSackOverflow
}

// parameter returns an integer parameter of the scheme at the responder's end, or def; both ends have the same.
func parameter(c *rule.Context, name string, def int) int {
	if n, err := strconv.Atoi(c.PeerAttr.Params[name]); err == nil {
		return n
	}
	return def
}

// newClock returns the clock of the requester, whose timeout depends on the parameter rtt as well.
func newClock(c *rule.Context) *timeout.Clock {
	rtt, _ := vtime.ParseDuration(c.Attr.Params["rtt"])
	return timeout.NewClock(c, rtt)
}

// switched reports whether a boolean parameter of the scheme is true.
func switched(c *rule.Context, name string) bool {
	on, err := strconv.ParseBool(c.PeerAttr.Params[name])
	return err == nil && on
}
