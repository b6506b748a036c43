// Package gb1 holds the rules of Go-Back-ONE: a responder that keeps out-of-order packets and names each in a RACK, and
// a requester that retransmits the packets that RACKs show to be missing, once and before new data.
//
// The number of packets that a responder keeps is an attribute (max_ooo_psn), and so is the time after which a timer
// expires, which the endpoint reports or a retransmission shows: rules that rest on either need attributes.
//
// Devices are judged at their ports. Packets that a requester had handed to its port before a RACK arrived still leave,
// so packets within Port.Wait of the RACK are allowed. Where the paper's algorithm is repaired, the rules require the
// repaired form; GB1-RTX-005 tells the two apart.
//
// GB1-NRM-001 compares two traces, with and without the scheme; it is judged from one, by the differences that it could
// show.
package gb1

import (
	"strconv"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Rules returns the family in the order of IDs.
func Rules() []rule.Rule {
	return []rule.Rule{
		earlyKept, tooEarlyDropped, runAcknowledged, memoryInOrder,
		lossFree,
		rackNamesBoth, rackEach, rackOpcode, rackFirst,
		timeoutGoesBack,
		oneForOne, gapForGap, resentFirst, acknowledgedSkipped, firstLossQueued, lengthKept,
		oldRACKIgnored, rackLost,
	}
}

// features of all rules of the family: the scheme, and the responder's behaviour.
var features = []string{"gb1", rule.KeepsEarly}

// engines: only engines implement Go-Back-ONE.
const engines = "ENG"

// isRACK reports whether p is a RACK, which names an out-of-order packet.
func isRACK(p *roce.Packet) bool { return p.Opcode == roce.RACK }

// defaultReach is the engine's default of max_ooo_psn.
const defaultReach = 1 << 20

// reach returns how many PSNs, from the expected one on, the responder is configured to keep.
func reach(c *rule.Context) int {
	if n, err := strconv.Atoi(c.PeerAttr.Params["max_ooo_psn"]); err == nil && n > 0 {
		return n
	}
	return defaultReach
}

// order detects packets that overtake each other on the link. Their retransmission follows no loss, and the requester
// is not to blame.
type order struct{ latest vtime.Time }

// broken reports whether a packet that leaves arrives before an earlier one.
func (o *order) broken(r *trace.Record) bool {
	if r.Recv == vtime.Never {
		return false
	}
	overtaken := r.Recv < o.latest
	o.latest = max(o.latest, r.Recv)
	return overtaken
}
