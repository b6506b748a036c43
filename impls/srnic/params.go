package srnic

import (
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/param"
	"github.com/rdma-gauntlet/gauntlet/impls/irn"
)

// config holds the parsed parameters of the scheme.
type config struct {
	irn  irn.Config
	pipe pipeConfig
}

// pipeConfig holds the parameters of the pipeline.
type pipeConfig struct {
	tq      vtime.Duration // duration of a bitmap query
	queries int            // bitmap queries of the receiver for each retransmitted packet
	rate    unit.Rate      // rate at which packets pass; 0 is unlimited
	buffer  int            // maximum number of waiting packets
}

// params returns the parameters of IRN and of the pipeline, with their defaults.
func params() []engine.Param {
	list := append(irn.Params(),
		engine.Param{Name: "buffer", Default: "65536",
			Meaning: "packets that may wait for the receive pipeline of an endpoint, 1 to 1048576; " +
				"further ones are dropped"},
		engine.Param{Name: "queries", Default: "2",
			Meaning: "bitmap queries that a retransmitted packet costs its receiver, 0 to 16"},
		engine.Param{Name: "rate", Default: "100G",
			Meaning: "rate at which packets pass the receive pipeline, normally the line rate; 0 for no limit"},
		engine.Param{Name: "tq", Default: "1400ns",
			Meaning: "time of a bitmap query, during which the receive pipeline of the endpoint stands still"})
	slices.SortFunc(list, func(a, b engine.Param) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// parse reads the parameters over their defaults.
func parse(given engine.Params) (config, error) {
	var cfg config
	err := given.Read(wire.Name, params(), cfg.set)
	return cfg, err
}

// set sets the parameter name.
func (c *config) set(name, value string) (err error) {
	if known, err := c.irn.Set(name, value); known {
		return err
	}
	switch name {
	case "buffer":
		c.pipe.buffer, err = param.Number(value, 1, 1<<20)
	case "queries":
		c.pipe.queries, err = param.Number(value, 0, 16)
	case "rate":
		if value != "0" {
			c.pipe.rate, err = unit.ParseRate(value)
		}
	case "tq":
		c.pipe.tq, err = param.Duration(value)
	}
	return err
}
