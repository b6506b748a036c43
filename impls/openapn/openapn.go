// Package openapn is RDMA over Open APN: an unmodified reliable connection whose send queue is as deep as the path is
// long.
//
// Source: Masutani et al., "Long-distance RDMA-acceleration Frameworks", NTT Technical Review, section 4. "To send
// packets without stalling packet processing, we suggest the following formula for QD configuration" (4.1): the depth
// is what fits into a round trip of line. The all-photonics network under it is assumed not to lose packets, so there
// is no recovery of its own: what is lost is go-back-N's business, and costs all the more the deeper the queue is. Read
// depth.go.
//
// Closed gaps. The paper rounds down in print (2991) and does not say how it configures; round=floor is the printed
// form, and round=ceil the formula rounded up. Neither keeps the line busy when few messages fill the path, because the
// formula leaves out how long one takes to be sent and acknowledged; the default counts that too. For messages of
// several packets the formula counts messages, because a queue does. "It is assumed that there should be an upper bound
// in the amount of configurable QD": the device cap is a parameter, 16384 as the paper's ConnectX-6 Dx, and a formula
// above it is cut and reported.
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

// mostCap bounds the cap that may be asked for; it is go-back-N's own bound.
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

// New builds the two halves of one end of a QP, which are go-back-N's. The depth of the queue is an attribute of the QP
// by then; see Implementation.QueueDepth.
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

// config is what the parameters of the scheme say.
type config struct {
	cap   int    // deepest queue of the device
	round string // of the depth: "floor", "ceil" or "busy"
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

// parse reads the parameters of this scheme; the others are go-back-N's to judge.
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
