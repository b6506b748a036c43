// Package openapn is RDMA over Open APN: an unmodified reliable connection whose send queue depth is derived from the
// RTT and rate of the path.
//
// Source: Masutani et al., "Long-distance RDMA-acceleration Frameworks", NTT Technical Review, section 4. "To send
// packets without stalling packet processing, we suggest the following formula for QD configuration" (4.1): the depth
// is the number of messages that the line carries in one RTT. The all-photonics network is assumed not to lose packets,
// so the scheme has no recovery of its own: lost packets are recovered by go-back-N, at a cost that grows with the
// depth. Read depth.go.
//
// Decisions that the paper leaves open. The paper prints the formula rounded down (2991) and does not say which value
// it configures: round=floor rounds down, round=ceil rounds up. Neither keeps the line busy when few messages fill the
// path, because the formula omits the time to send and to acknowledge a message; the default, round=busy, includes it.
// A queue counts messages, so for messages of several packets the formula divides by the bytes of a message. "It is
// assumed that there should be an upper bound in the amount of configurable QD": the cap of the device is a parameter,
// 16384 as in the paper's ConnectX-6 Dx, and a greater depth is cut to it and reported.
package openapn

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
)

// DeviceCap is the deepest send queue of the paper's device: "The QD of ConnectX-6 DX was set to 16,384" (4.2).
const DeviceCap = 16384

// mostCap is the largest cap that the parameter accepts, the bound of go-back-N on QueueDepth.
const mostCap = 1 << 20

// Implementation returns the entry of the registry.
func Implementation() engine.Implementation {
	im := gbn.Implementation()
	im.Name = "openapn"
	im.Title = "RDMA over Open APN: reliable connection with the queue depth of the path"
	im.Source = "Masutani et al., Long-distance RDMA-acceleration Frameworks, NTT Technical Review, section 4"
	im.Params = params()
	im.Features = []string{"openapn"}
	im.QueueDepth = queueDepth
	im.New = New
	return im
}

// New returns the two halves of one end of a QP, which are those of go-back-N. The driver has set the depth of the
// queue in qp; see Implementation.QueueDepth.
func New(qp engine.QP, mem engine.Memory) (engine.Requester, engine.Responder, error) {
	if _, err := parse(qp.Params); err != nil {
		return nil, nil, err
	}
	qp.Params = maps.Clone(qp.Params)
	delete(qp.Params, "cap")
	delete(qp.Params, "round")
	return gbn.Implementation().New(qp, mem)
}

// queueDepth applies the formula to the path of a QP.
func queueDepth(qp engine.QP) (depth int, note string, err error) {
	cfg, err := parse(qp.Params)
	if err != nil {
		return 0, "", err
	}
	message := qp.Path.Message
	if message == 0 {
		message = uint32(qp.MTU)
	}
	d, err := DepthOf(qp.Path.RTT, qp.Path.Rate, Frame(message, qp.MTU))
	if err != nil {
		return 0, "", err
	}
	switch cfg.round {
	case "floor":
		depth = d.Floor
	case "ceil":
		depth = d.Ceil
	default:
		depth = d.Busy
	}
	if depth > cfg.cap {
		return cfg.cap,
			fmt.Sprintf("openapn: the path asks for a queue of %d, the device has %d; the line will not be full",
				depth, cfg.cap), nil
	}
	return max(depth, 1), "", nil
}

// config is the parsed parameters of the scheme.
type config struct {
	cap   int    // deepest queue of the device
	round string // rounding of the depth: "floor", "ceil" or "busy"
}

// params documents the parameters; those of go-back-N keep their meaning.
func params() []engine.Param {
	list := append(gbn.Implementation().Params,
		engine.Param{Name: "cap", Default: strconv.Itoa(DeviceCap),
			Meaning: "work requests; the deepest send queue of the device"},
		engine.Param{Name: "round", Default: "busy", Meaning: "busy counts the time in which a message is sent and " +
			"acknowledged; ceil and floor do not, floor as the paper prints it"})
	slices.SortFunc(list, func(a, b engine.Param) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// parse reads the parameters of this scheme; go-back-N checks the others.
func parse(given engine.Params) (config, error) {
	cfg := config{cap: DeviceCap, round: "busy"}
	if v, ok := given["cap"]; ok {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 || n > mostCap {
			return cfg, fmt.Errorf("openapn: parameter cap: %q: want 1 to %d work requests", v, mostCap)
		}
		cfg.cap = n
	}
	switch v := given["round"]; v {
	case "busy", "ceil", "floor":
		cfg.round = v
	case "":
	default:
		return cfg, fmt.Errorf("openapn: parameter round: %q: want busy, ceil or floor", v)
	}
	return cfg, nil
}
