package pseudoack

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/param"
)

// config is the parsed parameters of the box.
type config struct {
	buffer  int            // bytes of requests per flow that may be promised; zero keeps no copy, as in the paper
	overrun int            // bytes of requests per flow that are accepted beyond buffer and not promised
	flows   int            // flows in the table at most
	mtu     int            // MTU assumed for flows that have not shown theirs
	retry   int            // timeouts and NAKs without progress before a flow is given up
	rto     vtime.Duration // timeout of the WAN (wan_rto)
	detail  bool
}

// leastRTO is the shortest wan_rto that is derived from the RTT. Only the last packet of a message requests an ACK, so
// ACKs are apart by the transmission time of a message, which on a link with little delay may be longer than the RTT.
const leastRTO = vtime.Millisecond

// Upper bounds of parameters, so that a mistyped number does not exhaust the memory.
const (
	mostBuffer = 16 * unit.GiB
	mostFlows  = 1 << 16
)

// params documents the parameters of the box, sorted by name, with the defaults that parse starts from.
func params() []engine.Param {
	return []engine.Param{
		{Name: "buffer", Default: "64MiB",
			Meaning: "bytes of each flow that the box may have promised and Remote not acknowledged; 0 keeps " +
				"nothing, as the paper"},
		{Name: "flows", Default: "1024", Meaning: "connections that are accelerated; more pass through"},
		{Name: "overrun", Default: "64MiB",
			Meaning: "bytes of each flow that the box takes beyond buffer, without a promise; more are dropped " +
				"as if lost on the LAN"},
		{Name: "path_mtu", Default: "1024",
			Meaning: "bytes; counts the PSNs of READs on connections whose set-up the box has not seen and " +
				"that sent no full packet"},
		{Name: "wan_retry", Default: "7",
			Meaning: "timeouts and NAKs without progress after which the box gives a connection up"},
		{Name: "wan_rto", Default: "0",
			Meaning: "time without an answer from Remote after which the box goes back; 0 is two RTTs of " +
				"the WAN, 1 ms at least"},
	}
}

// parse reads the parameters over their defaults.
func parse(given engine.Params, rtt vtime.Duration) (cfg config, err error) {
	if err := given.Read("pseudoack", params(), cfg.set); err != nil {
		return config{}, err
	}
	if cfg.rto == 0 {
		cfg.rto = max(2*rtt, leastRTO)
	}
	return cfg, nil
}

// set gives one parameter its value.
func (c *config) set(name, value string) (err error) {
	switch name {
	case "buffer":
		c.buffer, err = bytes(value, 0)
	case "overrun":
		c.overrun, err = bytes(value, 64*unit.KiB)
	case "flows":
		c.flows, err = whole(value, 1, mostFlows)
	case "wan_retry":
		c.retry, err = whole(value, 0, 1<<20)
	case "path_mtu":
		c.mtu, err = whole(value, 256, 4096)
		if err == nil && c.mtu&(c.mtu-1) != 0 {
			err = fmt.Errorf("%q: want 256, 512, 1024, 2048 or 4096", value)
		}
	case "wan_rto":
		c.rto, err = param.Duration(value)
	}
	return err
}

// bytes reads a size within bounds.
func bytes(s string, least unit.Size) (int, error) {
	n, err := unit.ParseSize(s)
	if err == nil && (n < least || n > mostBuffer) {
		err = fmt.Errorf("%q: want %s to %s", s, least, mostBuffer)
	}
	return int(n), err
}

// whole reads a number within bounds.
func whole(s string, least, most int) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("%q: want %d to %d", s, least, most)
	}
	return n, nil
}

func names() (list []string) {
	for _, p := range params() {
		list = append(list, p.Name)
	}
	return list
}

func isParam(name string) bool { return slices.Contains(names(), name) }
