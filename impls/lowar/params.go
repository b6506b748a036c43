package lowar

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/param"
)

// config holds the parsed parameters of the shim.
type config struct {
	send, recv code           // (r, c) of the blocks sent and expected; initial values if adaptive
	units      int            // coding units in the Encoding Buffer, and in the Decoding Buffer
	rob        int            // packets in the Reordering Buffer
	tRob       vtime.Duration // time after which a block with a missing packet is given up; > 0
	adaptive   bool           // the receiver sends FEEDBACK and the sender follows it
	bdp        int            // packets that one go-back-N wastes, for adaptive
	window     int            // data packets between two reports of the receiver (parameter report)
	inner      engine.Params  // parameters of the engine above
}

// code is the pair (r, c): "r denotes the size of the coding block and c stands for the interleaving depth" (IV-B1).
type code struct{ r, c int }

// Upper bounds of the parameters. A header has 16 bits for r and 8 for c; useful values are far below.
const (
	maxR     = 1024
	maxC     = 64
	maxUnits = 1 << 16
	maxROB   = 1 << 16
	maxBDP   = 1 << 24
	maxWin   = 1 << 20
)

// valid reports whether k can be used: 1 <= c <= maxC and c <= r <= maxR, so that each unit has at least one packet.
func (k code) valid() bool { return k.c >= 1 && k.c <= maxC && k.r >= k.c && k.r <= maxR }

// own returns the parameters of the shim with their defaults. (32, 1) is the pair of most of the paper's experiments;
// units and rob are those of its prototype (V).
func own() []engine.Param {
	return []engine.Param{
		{Name: "adaptive", Default: "false",
			Meaning: "true lets the receiver ask for another r and c as losses change, and the sender follow"},
		{Name: "bdp", Default: "32768",
			Meaning: "packets that one go-back-N wastes, for adaptive: the bandwidth-delay product; 1 to 16777216"},
		{Name: "c", Default: "1",
			Meaning: "interleaving depth: repair packets per block, and the longest burst that is repaired; " +
				"1 to 64, not above r"},
		{Name: "r", Default: "32",
			Meaning: "data packets per block, 1 to 1024"},
		{Name: "recv_c", Default: "same",
			Meaning: "c that this end expects of its peer; same takes c"},
		{Name: "recv_r", Default: "same",
			Meaning: "r that this end expects of its peer; same takes r"},
		{Name: "report", Default: "4096",
			Meaning: "data packets between two reports of the receiver, for adaptive, 1 to 1048576"},
		{Name: "rob", Default: "2048",
			Meaning: "packets that wait for a missing one, of all QPs of an endpoint, 1 to 65536"},
		{Name: "t_rob", Default: "10ms",
			Meaning: "time after which a packet is given up that no repair has brought; above two block times, far " +
				"below the transport timer"},
		{Name: "units", Default: "1024",
			Meaning: "coding units for encoding, and as many for decoding, of all QPs of an endpoint, 1 to 65536"},
	}
}

// params returns the parameters of the shim and those of the engine above, sorted by name.
func params(inner *engine.Implementation) []engine.Param {
	list := append(own(), inner.Params...)
	slices.SortFunc(list, func(a, b engine.Param) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// parse reads the parameters over their defaults. It passes those of the engine above on unchanged.
func parse(given engine.Params, inner *engine.Implementation) (config, error) {
	cfg := config{inner: engine.Params{}}
	value := map[string]string{}
	for _, p := range own() {
		value[p.Name] = p.Default
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		_, mine := value[name]
		switch {
		case mine:
			value[name] = given[name]
		case slices.ContainsFunc(inner.Params, func(p engine.Param) bool { return p.Name == name }):
			cfg.inner[name] = given[name]
		default:
			return cfg, fmt.Errorf("lowar: parameter %s is not known; known are %s", name, names(params(inner)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(value)) {
		v := value[name]
		if v == "same" && strings.HasPrefix(name, "recv_") {
			v = value[strings.TrimPrefix(name, "recv_")]
		}
		if err := cfg.set(name, v); err != nil {
			return cfg, fmt.Errorf("lowar: parameter %s: %w", name, err)
		}
	}
	return cfg, cfg.validate()
}

// validate checks the parameters against each other.
func (c *config) validate() error {
	for _, k := range [...]code{c.send, c.recv} {
		if !k.valid() {
			return fmt.Errorf("lowar: parameters r=%d c=%d: a block of r packets fills c units, so "+
				"use an r not below c", k.r, k.c)
		}
		if c.units < k.c {
			return fmt.Errorf("lowar: parameter units: %d: one block takes c=%d of them", c.units, k.c)
		}
	}
	return nil
}

func names(list []engine.Param) string {
	var out []string
	for _, p := range list {
		out = append(out, p.Name)
	}
	return strings.Join(out, ", ")
}

// set sets the parameter name of the shim.
func (c *config) set(name, value string) (err error) {
	switch name {
	case "adaptive":
		c.adaptive, err = param.Bool(value)
	case "bdp":
		c.bdp, err = param.Number(value, 1, maxBDP)
	case "c":
		c.send.c, err = param.Number(value, 1, maxC)
	case "r":
		c.send.r, err = param.Number(value, 1, maxR)
	case "recv_c":
		c.recv.c, err = param.Number(value, 1, maxC)
	case "recv_r":
		c.recv.r, err = param.Number(value, 1, maxR)
	case "report":
		c.window, err = param.Number(value, 1, maxWin)
	case "rob":
		c.rob, err = param.Number(value, 1, maxROB)
	case "t_rob":
		if c.tRob, err = vtime.ParseDuration(value); err == nil && c.tRob <= 0 {
			err = fmt.Errorf("%q: want more than zero", value)
		}
	case "units":
		c.units, err = param.Number(value, 1, maxUnits)
	}
	return err
}
