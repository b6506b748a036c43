// Package selfcheck makes the experiments of the META rules: it runs every implementation, and every engine with a
// deliberate defect, in virtual time, and passes the recordings to package meta, which judges the judge.
package selfcheck

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/matrix"
	"github.com/rdma-gauntlet/gauntlet/conformance/meta"
	"github.com/rdma-gauntlet/gauntlet/conformance/meta/record"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/conformance/waivers"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
	wrong "github.com/rdma-gauntlet/gauntlet/impls/broken/all"
)

// IDs lists the rules of the family META.
func IDs() (ids []string) {
	for _, r := range meta.Rules() {
		ids = append(ids, r.ID)
	}
	return ids
}

// Known returns an error for an ID that is not of the family.
func Known(ids []string) error {
	for _, id := range ids {
		if !slices.Contains(IDs(), id) {
			return fmt.Errorf("selfcheck %s: want one of %s", id, strings.Join(IDs(), " "))
		}
	}
	return nil
}

// Run judges the rules with the given IDs, or all rules if there are none, in the order of the catalogue.
func Run(ctx context.Context, ids []string) (verdicts []rule.Verdict, err error) {
	experiments := experimentsOn(ctx)
	for _, id := range IDs() {
		if len(ids) > 0 && !slices.Contains(ids, id) {
			continue
		}
		v, err := experiments[id]()
		if err != nil {
			return nil, err
		}
		verdicts = append(verdicts, v)
	}
	return verdicts, nil
}

// experimentsOn returns the experiment of each rule of the family. Experiments that need recordings share them.
func experimentsOn(ctx context.Context) map[string]func() (rule.Verdict, error) {
	recorded := sync.OnceValues(func() ([][2]*meta.Recording, error) { return recordings(ctx) })
	over := func(experiment func(
		meta.Judge, []rule.Rule, []*meta.Recording) (rule.Verdict, error)) func() (rule.Verdict, error) {
		return func() (rule.Verdict, error) {
			pairs, err := recorded()
			if err != nil {
				return rule.Verdict{}, err
			}
			return experiment(meta.Judged, rules.All(), first(pairs))
		}
	}
	settled := func(experiment func(
		meta.Judge, meta.Settler, []rule.Rule, []*meta.Recording) (rule.Verdict, error)) func() (rule.Verdict, error) {
		return over(func(by meta.Judge, list []rule.Rule, of []*meta.Recording) (rule.Verdict, error) {
			return experiment(by, record.Settle, list, of)
		})
	}
	lost := sync.OnceValues(func() (loss, error) { return lose(ctx, recorded) })
	return map[string]func() (rule.Verdict, error){
		meta.Clock:    over(meta.Later),
		meta.Silence:  over(meta.Silent),
		meta.Captures: over(judgedFromFiles),
		meta.OneTap:   over(meta.FromOneTap),
		meta.Validity: settled(meta.Unproven),
		meta.Vacuous:  settled(meta.Undecided),

		meta.LessEvidence: func() (rule.Verdict, error) { l, err := lost(); return l.less, err },
		meta.MoreEvidence: func() (rule.Verdict, error) { l, err := lost(); return l.more, err },
		meta.Seed: func() (rule.Verdict, error) {
			pairs, err := recorded()
			if err != nil {
				return rule.Verdict{}, err
			}
			return meta.Repeated(pairs)
		},
		meta.Mutants:  func() (rule.Verdict, error) { return caught(ctx, Engines()) },
		meta.SoftRoCE: func() (rule.Verdict, error) { return waived("rxe", meta.SoftRoCEDeviations) },
		meta.Devices:  func() (rule.Verdict, error) { return meta.DeviceDeviations(), nil },
	}
}

// first returns the first recording of each pair.
func first(pairs [][2]*meta.Recording) (list []*meta.Recording) {
	for _, p := range pairs {
		list = append(list, p[0])
	}
	return list
}

// loss holds the verdicts of META-LESS-001 and META-MORE-001, which come from the same judgements.
type loss struct{ less, more rule.Verdict }

// lose judges recordings with reduced evidence. Each way of reduction is applied once, and the recordings take turns;
// the last of them is of a broken engine.
func lose(ctx context.Context, recorded func() ([][2]*meta.Recording, error)) (l loss, err error) {
	pairs, err := recorded()
	if err != nil {
		return l, err
	}
	wrong, err := spoilt(ctx, &Engines()[0])
	if err != nil {
		return l, err
	}
	over, all := append(first(pairs), wrong), meta.Ways()
	l.less, l.more, err = meta.FromLess(meta.Judged, rules.All(), over, func(i int) (ways []meta.Way) {
		for n := i; n < len(all); n += len(over) {
			ways = append(ways, all[n])
		}
		return ways
	})
	return l, err
}

// spoilt records a broken engine in the first scenario that exposes its defect.
func spoilt(ctx context.Context, b *matrix.Broken) (*meta.Recording, error) {
	text, err := b.Stimulus(b.Scenarios[0])
	if err != nil {
		return nil, err
	}
	return tried(ctx, b.Impl, text)
}

// judgedFromFiles is meta.FromFiles with a temporary folder.
func judgedFromFiles(by meta.Judge, list []rule.Rule, over []*meta.Recording) (rule.Verdict, error) {
	dir, err := os.MkdirTemp("", "gauntlet-selfcheck-")
	if err != nil {
		return rule.Verdict{}, err
	}
	defer os.RemoveAll(dir)
	return meta.FromFiles(by, list, over, dir)
}

// waived compares a list of deviations with the waivers that come with the program.
func waived(device string, list func([]waivers.Waiver) rule.Verdict) (rule.Verdict, error) {
	known, err := waivers.Read(device)
	return list(known), err
}

// scenarioText is the scenario of every implementation: some loss, reordering and duplication in both directions.
const scenarioText = `seed 7
link rate=100M delay=2ms reorder=1e-2 duplicate=1e-2
loss random p=2e-2
qp rto=20ms count=2
report detail
load write msg=20000 count=8
load send msg=3000 count=8
`

// recordings makes two runs of every implementation.
func recordings(ctx context.Context) (pairs [][2]*meta.Recording, err error) {
	for _, impl := range all.Implementations() {
		var pair [2]*meta.Recording
		for i := range pair {
			if pair[i], err = tried(ctx, impl, scenarioText); err != nil {
				return nil, fmt.Errorf("%s: %w", impl.Name, err)
			}
		}
		pairs = append(pairs, pair)
	}
	return pairs, nil
}

// tried records a run in virtual time with the same implementation at both ends.
func tried(ctx context.Context, impl engine.Implementation, text string) (*meta.Recording, error) {
	spec, err := scenario.Parse(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	return record.Run(ctx, spec, impl)
}

// caught runs the broken engines, and their correct counterparts, on all processors.
func caught(ctx context.Context, engines []matrix.Broken) (rule.Verdict, error) {
	var kills []meta.Kill
	for _, k := range matrix.Hunt(ctx, matrix.Options{Rules: rules.All(), Jobs: runtime.GOMAXPROCS(0)}, engines) {
		if k.Status == rule.Error.String() {
			return rule.Verdict{}, fmt.Errorf("%s: %s", k.Name, k.Reason)
		}
		kills = append(kills, meta.Kill{Engine: k.Name, Caught: k.Caught, Missed: k.Missed})
	}
	return meta.Caught(rules.All(), kills, wrong.Uncaught), nil
}
