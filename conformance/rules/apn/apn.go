// Package apn holds the rules of RDMA over Open APN: the depth of the send queue matches the length of the path.
//
// The depth in force, the path that it was computed from and the device's cap are attributes of the QP. The formula is
// implemented here again, so that a wrong implementation is not compared with itself. Rules about throughput judge
// flows of messages of one packet over a path without loss: there the only free parameter of the closed form is the
// time that the hosts take, for which there is an allowance (hosts).
package apn

import (
	"strconv"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Rules returns the family in the order of IDs.
func Rules() []rule.Rule {
	return []rule.Rule{
		printedDepth, unitsOfDepth, lineBusy, starvedQueue, deviceCap, countedInMessages,
		moderatedQueue, receivesForSends,
	}
}

// define sets the fields that all rules share: the feature of the family, and unless others are set, the sights of
// requests and the needs of a rule about the depth that follows from the path.
func define(r rule.Rule) rule.Rule {
	r.Features = []string{"openapn"}
	if r.Needs == 0 {
		r.Needs = rule.TapRequester | rule.Attributes | rule.Configured
	}
	if r.Sees == 0 {
		r.Sees = rule.RequestOut
	}
	return r
}

// The devices that can be judged: our engines, also standard endpoints over an emulated path, and also hardware.
const (
	engines  = "ENG"
	emulated = "ENG,EMU"
	hardware = "ENG,EMU,HW"
)

// hosts is the time that both hosts together may take to turn a message around, beyond the path and the line.
const hosts = 250 * vtime.Microsecond

// overhead is the layer-1 length of a packet without payload, in bytes; the formula leaves RETH and AETH out.
const overhead = 82

// frame returns the layer-1 length of a message in bytes.
func frame(message uint32, mtu int) int {
	return int(message) + overhead*max(1, (int(message)+mtu-1)/mtu)
}

// frameOf returns the layer-1 length of the messages of a QP in bytes; that of one packet when their length is not
// known.
func frameOf(q *engine.QP) int {
	message := q.Path.Message
	if message == 0 {
		message = uint32(q.MTU)
	}
	return frame(message, q.MTU)
}

// formula returns RTT x rate / frame for the path of a QP; known is false when the path is not known.
func formula(q *engine.QP) (depth float64, known bool) {
	if q.Path.RTT <= 0 || q.Path.Rate <= 0 || q.MTU <= 0 {
		return 0, false
	}
	seconds := float64(q.Path.RTT) / float64(vtime.Second)
	return seconds * float64(q.Path.Rate) / float64(8*frameOf(q)), true
}

// defaultCap is the deepest queue of the paper's device, "The QD of ConnectX-6 DX was set to 16,384" (NTT 4.2).
const defaultCap = 16384

// capOf returns the device's cap.
func capOf(q *engine.QP) int {
	if n, err := strconv.Atoi(q.Params["cap"]); err == nil && n > 0 {
		return n
	}
	return defaultCap
}
