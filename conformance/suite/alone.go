package suite

import (
	"context"
	"fmt"
	"slices"

	"github.com/onsi/ginkgo/v2/types"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/scenarios"
)

// Alone is a suite whose specs are run one by one, in any order, any number of times, and concurrently if Run allows
// it. It does not use Ginkgo's tree, which exists once per process.
type Alone struct {
	cfg   Config
	Specs []Spec // the specs that the filter selects, in the order of implementations and scenarios
}

// NewAlone plans the specs that a label filter selects; "" selects all. The errors are those of Register and List.
func NewAlone(cfg Config, filter string) (*Alone, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if err := (&Options{LabelFilter: filter}).check(); err != nil {
		return nil, err
	}
	wanted, _ := types.ParseLabelFilter(filter) // checked
	a, levels := &Alone{cfg: cfg}, levelsOfRules()
	for _, impl := range cfg.Implementations {
		for sc := range cfg.suiting(impl) {
			if all := slices.Concat(cfg.common(impl), labels(sc, levels)); wanted(all) {
				a.Specs = append(a.Specs, Spec{Impl: impl, Scenario: sc.Name, Labels: all})
			}
		}
	}
	return a, nil
}

// Play runs a spec within the suite's limit of real time, and judges it. It does not call Observe.
func (a *Alone) Play(ctx context.Context, s Spec) *Outcome {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.Timeout)
	defer cancel()
	i := slices.IndexFunc(a.cfg.Scenarios, func(sc scenarios.Scenario) bool { return sc.Name == s.Scenario })
	if i < 0 {
		return &Outcome{
			Impl:     s.Impl,
			Scenario: s.Scenario,
			Bench:    a.cfg.Bench,
			Status:   rule.Error,
			Reason:   fmt.Sprintf("suite: no scenario %q", s.Scenario),
		}
	}
	return a.cfg.play(ctx, s.Impl, &a.cfg.Scenarios[i])
}
