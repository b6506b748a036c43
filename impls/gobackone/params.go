package gobackone

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
)

// config holds the parsed parameters of the scheme.
type config struct {
	maxOOO int           // PSNs from the expected one on that the responder keeps
	rtoOne bool          // a timeout retransmits the oldest packet only, not the whole window (rto=one)
	inner  engine.Params // parameters of go-back-N
}

// mostOOO bounds max_ooo_psn: half of the distance at which PSN order ends.
const mostOOO = 1 << 22

// inherited are the parameters of go-back-N that keep their meaning.
var inherited = []string{"ack_delay", "read_gap", "rxe_infinite7"}

// params returns the parameters, sorted by name, with the defaults that parse starts from.
func params() []engine.Param {
	list := []engine.Param{
		{Name: "max_ooo_psn", Default: "1048576",
			Meaning: "packets; the responder keeps what is less than so many PSNs ahead and drops the rest in silence"},
		{Name: "rto", Default: "gbn",
			Meaning: "gbn sends everything from the oldest packet on again after a timeout; one sends that packet"},
	}
	base := gbn.Implementation()
	for _, p := range base.Params {
		if slices.Contains(inherited, p.Name) {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b engine.Param) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// parse reads the parameters over their defaults. Those of go-back-N are handed on as they are.
func parse(given engine.Params) (config, error) {
	cfg := config{inner: engine.Params{}}
	if err := given.Read("gobackone", params(), cfg.set); err != nil {
		return config{}, err
	}
	return cfg, nil
}

// set gives one parameter its value.
func (c *config) set(name, value string) (err error) {
	switch name {
	case "max_ooo_psn":
		if c.maxOOO, err = strconv.Atoi(value); err != nil || c.maxOOO < 1 || c.maxOOO > mostOOO {
			err = fmt.Errorf("%q: want 1 to %d", value, mostOOO)
		}
	case "rto":
		c.rtoOne = value == "one"
		if !c.rtoOne && value != "gbn" {
			err = fmt.Errorf("%q: want gbn or one", value)
		}
	default:
		c.inner[name] = value
	}
	return err
}
