// Package lowar holds the rules of LoWAR (Zuo et al., LoWAR: Enhancing RDMA over Lossy WANs with Transparent Error
// Correction): a shim below a reliable connection that sends XOR repair packets and recovers lost packets from them.
//
// Both halves of the shim have a reference machine. The encoder (stream.go) tracks the packets that leave a port and
// computes the repair packets that are due. The decoder (package rule, Decoder) tracks the packets that reach a port
// and computes those passed to the transport above. Rules compare a device with them. The inside of an endpoint, such
// as its coding units, is judged by the variables that an engine reports.
//
// The paper does not define the repair header beyond its first five bytes, the span of the XOR, or the treatment of
// retransmissions; the rules about them quote the paper and follow this project's choice.
package lowar

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Rules returns the family in the order of IDs.
func Rules() []rule.Rule {
	return []rule.Rule{
		recovered, identical, firstRecovered, burstRecovered, twoLost, repairAlsoLost,
		repairLost, inOrder(),
		tracksAgain, mismatchIgnored, unsoundDiscarded, repeatIgnored,
		blockEnds, repairCount, xorPayload(), oneMessage(), duplicate(), edges, basePSN, noPSN, freshBlock,
		responsesCoded, uncoded,
		header, ports, fields, sealed,
		changeAnnounced, announcementLost,
		overhead,
		reorderBuffer(), holeExpires,
		dataUnchanged, stockIgnores(),
		unitsBounded, unitsExhausted(),
	}
}

const (
	// engines are the devices that can be judged: this project defines the layout of the repair header.
	engines = "ENG"
)

// define fills in the fields that all rules of the family share.
func define(r rule.Rule) rule.Rule {
	r.Features, r.BlackBox = []string{rule.CodesBlocks}, engines
	if r.Level == "" {
		r.Level = rule.Must
	}
	return r
}

// coded reports whether LoWAR protects packets with this opcode.
func coded(o roce.Opcode) bool {
	return o.Class() == roce.ClassRC && (o.IsSend() || o.IsWrite() || o.IsReadResponse())
}

// isRepair reports whether p is a repair packet.
func isRepair(p *roce.Packet) bool {
	return p.Opcode == roce.LoWAR && p.Repair.Type == roce.RepairData
}

// blame returns the end that sends a stream: of READ responses, or of requests.
func blame(reads bool) rule.Blame {
	if reads {
		return rule.Responder
	}
	return rule.Requester
}

// together combines checks into one.
func together(checks ...rule.Check) rule.Check {
	return rule.Check{
		Sight: func(s *rule.Sight) {
			for _, c := range checks {
				if c.Sight != nil {
					c.Sight(s)
				}
			}
		},
		Event: func(e *trace.Event) {
			for _, c := range checks {
				if c.Event != nil {
					c.Event(e)
				}
			}
		},
		End: func(at vtime.Time) {
			for _, c := range checks {
				if c.End != nil {
					c.End(at)
				}
			}
		},
	}
}
