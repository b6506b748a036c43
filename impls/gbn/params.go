package gbn

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/param"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
)

// config holds the parsed parameters of the scheme.
type config struct {
	infinite7    bool           // RetryCount 7 means no limit (rxe_infinite7)
	waitOnGap    bool           // a gap in READ responses is retried by the timer only (read_gap=wait)
	nackInterval vtime.Duration // time after which the sequence NAK of a gap repeats; 0 sends one NAK per gap
	chunk        int            // bytes; a rewind goes to a multiple of chunk in the message; 0 goes to una (backto0)
	ackDelay     vtime.Duration // longest delay of a coalesced ACK
}

// params returns the parameters with their defaults, from which parse starts.
func params() []engine.Param {
	return []engine.Param{
		{Name: "ack_delay", Default: "4us",
			Meaning: "time after which the responder sends a coalesced ACK although no more AckReq packets came"},
		{Name: "backto0", Default: "0",
			Meaning: "bytes; go back to a multiple of this offset in the message, as HPCC's m_backto0; 0 turns it off"},
		{Name: "nack_interval", Default: "0",
			Meaning: "time after which the sequence NAK of a gap repeats, as in HPCC; 0 sends one per gap"},
		{Name: "read_gap", Default: "immediate",
			Meaning: "immediate re-issues a READ as soon as a response is missing; wait leaves it to " +
				"the timer, as soft-RoCE"},
		{Name: "rxe_infinite7", Default: "false",
			Meaning: "true makes RetryCount 7 retry for ever, as soft-RoCE does"},
	}
}

// parse reads the parameters over their defaults.
func parse(given engine.Params) (config, error) {
	var cfg config
	if err := given.Read("gbn", params(), cfg.set); err != nil {
		return config{}, err
	}
	return cfg, nil
}

// set sets the parameter name.
func (c *config) set(name, value string) (err error) {
	switch name {
	case "ack_delay":
		c.ackDelay, err = param.Duration(value)
	case "nack_interval":
		c.nackInterval, err = param.Duration(value)
	case "backto0":
		var n unit.Size
		n, err = unit.ParseSize(value)
		c.chunk = int(min(n, rc.MaxMessage))
	case "read_gap":
		c.waitOnGap = value == "wait"
		if !c.waitOnGap && value != "immediate" {
			err = fmt.Errorf("%q: want immediate or wait", value)
		}
	case "rxe_infinite7":
		c.infinite7, err = param.Bool(value)
	}
	return err
}
