package gbn

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/param"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
)

// config is what the parameters of the scheme say.
type config struct {
	infinite7    bool           // RetryCount 7 never runs out
	waitOnGap    bool           // a gap in READ responses waits for the timer
	nackInterval vtime.Duration // the sequence NAK repeats after this long; zero: once per gap
	chunk        int            // go back to a multiple of so many bytes of the message; zero: to the packet
	ackDelay     vtime.Duration // longest wait of a coalesced ACK
}

// params documents the parameters, with the defaults that parse starts from.
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

// set gives one parameter its value.
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
