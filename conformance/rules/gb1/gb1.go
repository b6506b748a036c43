// Package gb1 holds the rules of Go-Back-ONE: a responder that keeps what comes early and names each such packet in a
// RACK, and a requester that sends what the RACKs show to be missing, once and before new data.
//
// How far ahead a responder keeps is an attribute (max_ooo_psn), and when a timer expires only its endpoint tells:
// rules that rest on either need it.
//
// Devices are judged at their ports. What a requester had handed to its port before a RACK reached it still leaves, so
// packets within Port.Wait of the RACK are not held against it. Where the paper's algorithm is repaired, the rules ask
// for the repaired form; GB1-RTX-005 is the one that tells the two apart.
//
// GB1-NRM-001 speaks of two traces, with and without the scheme; it is judged from one, by what could make them differ.
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
		earlyKept(), tooEarlyDropped(), runAcknowledged(), memoryInOrder(),
		lossFree(),
		rackNamesBoth(), rackEach(), rackOpcode(), rackFirst(),
		timeoutGoesBack(),
		oneForOne(), gapForGap(), resentFirst(), acknowledgedSkipped(), firstLossQueued(), lengthKept(),
		oldRACKIgnored(), rackLost(),
	}
}

// features of the whole family: the scheme, and what its responder does.
var features = []string{"gb1", rule.KeepsEarly}

// engines says that only engines speak Go-Back-ONE.
const engines = "ENG"

// isRACK reports the packet that names an early arrival.
func isRACK(p *roce.Packet) bool { return p.Opcode == roce.RACK }

// defaultReach is the engine's default of max_ooo_psn.
const defaultReach = 1 << 20

// reach returns how many PSNs, from the expected one on, the responder was told to keep.
func reach(c *rule.Context) int {
	if n, err := strconv.Atoi(c.PeerAttr.Params["max_ooo_psn"]); err == nil && n > 0 {
		return n
	}
	return defaultReach
}

// order notices packets that arrive in another order than they are sent in: what is then sent again was not lost, and
// the requester is not to blame.
type order struct{ latest vtime.Time }

// broken takes a packet that leaves, and looks ahead to its arrival.
func (o *order) broken(r *trace.Record) bool {
	if r.Recv == vtime.Never {
		return false
	}
	overtaken := r.Recv < o.latest
	o.latest = max(o.latest, r.Recv)
	return overtaken
}
