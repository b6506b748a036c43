// Package lowar holds the rules of LoWAR (Zuo et al., LoWAR: Enhancing RDMA over Lossy WANs with Transparent Error
// Correction): a shim below a reliable connection that sends XOR repair packets, and recovers from them what is lost.
//
// Both halves of the shim have a reference machine. The encoder (stream.go) follows the packets that leave a port and
// knows the repair packets that are due; the decoder (package rule, Decoder) follows what reaches a port and knows what
// the transport above is given. Rules compare a device with them. What happens inside an endpoint and shows on no wire,
// such as coding units, is judged by the variables that an engine reports.
//
// The layout of the repair header beyond its first five bytes, the span of the XOR and the treatment of retransmissions
// are not in the paper; the rules about them quote what it says and hold this project's choice.
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
		recovered(), identical(), firstRecovered(), burstRecovered(), twoLost(), repairAlsoLost(),
		repairLost(), inOrder(),
		tracksAgain(), mismatchIgnored(), unsoundDiscarded(), repeatIgnored(),
		blockEnds(), repairCount(), xorPayload(), oneMessage(), duplicate(), edges(), basePSN(), noPSN(), freshBlock(),
		responsesCoded(), uncoded(),
		header(), ports(), fields(), sealed(),
		changeAnnounced(), announcementLost(),
		overhead(),
		reorderBuffer(), holeExpires(),
		dataUnchanged(), stockIgnores(),
		unitsBounded(), unitsExhausted(),
	}
}

const (
	// engines are the devices that can be judged: the layout of the repair header is this project's.
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

// coded reports a packet that LoWAR protects.
func coded(o roce.Opcode) bool {
	return o.Class() == roce.ClassRC && (o.IsSend() || o.IsWrite() || o.IsReadResponse())
}

// isRepair reports a repair packet.
func isRepair(p *roce.Packet) bool {
	return p.Opcode == roce.LoWAR && p.Repair.Type == roce.RepairData
}

// blame names the end that sends a stream.
func blame(reads bool) rule.Blame {
	if reads {
		return rule.Responder
	}
	return rule.Requester
}

// together runs several checks side by side.
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
