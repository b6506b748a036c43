package claims

import (
	"errors"
	"fmt"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
	"github.com/rdma-gauntlet/gauntlet/perf/atlas"
	"github.com/rdma-gauntlet/gauntlet/perf/suite"
	"github.com/rdma-gauntlet/gauntlet/perf/targets"
)

// Select returns the claims of some classes, such as "A,V", among those with the given names or of the given families;
// no names stand for all claims.
func Select(classes string, names []string) ([]targets.Target, error) {
	wanted, err := targets.ParseClasses(classes)
	if err != nil {
		return nil, fmt.Errorf("--class: %w", err)
	}
	found := targets.All()
	if len(names) > 0 {
		if found, err = targets.Find(found, names); err != nil {
			return nil, fmt.Errorf("--target: %w", err)
		}
	}
	if found = suite.Select(found, wanted); len(found) == 0 {
		return nil, fmt.Errorf("--class %s: no claim of that class among those asked for", classes)
	}
	return found, nil
}

// Grid is the text of the options of an atlas: over which links it compares which transports.
type Grid struct {
	RTTs       []string // round-trip times
	Losses     []string // loss ratios, in both directions
	Bursts     []int    // numbers of packets lost in a row; with Law geometric, their means
	Law        string   // the distribution of the lengths of bursts
	Rates      []string // of the lines
	Transports []string // the simplest first; impl:name=value sets a parameter
}

// Options parses the grid. The error joins all mistakes in it.
func (g *Grid) Options() (atlas.Options, error) {
	o := atlas.Options{Bursts: g.Bursts, Law: atlas.Law(g.Law)}
	var errs [4]error
	o.Rates, errs[0] = parsed("rate", g.Rates, unit.ParseRate)
	o.RTTs, errs[1] = parsed("rtt", g.RTTs, vtime.ParseDuration)
	o.Losses, errs[2] = parsed("loss", g.Losses, unit.ParseRatio)
	o.Transports, errs[3] = parsed("impl", g.Transports, transport)
	return o, errors.Join(errs[:]...)
}

// parsed parses every value of a flag.
func parsed[T any](flag string, texts []string, parse func(string) (T, error)) ([]T, error) {
	var out []T
	for _, s := range texts {
		v, err := parse(s)
		if err != nil {
			return nil, fmt.Errorf("--%s: %w", flag, err)
		}
		out = append(out, v)
	}
	return out, nil
}

// transport parses a transport; its engine has to be one of this repository.
func transport(s string) (atlas.Transport, error) {
	t := atlas.ParseTransport(s)
	if _, ok := all.Find(t.Impl); !ok {
		return t, fmt.Errorf("implementation %q: unknown; known: %s", t.Impl, strings.Join(all.Names(), " "))
	}
	return t, nil
}
