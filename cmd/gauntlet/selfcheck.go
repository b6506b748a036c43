package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/matrix"
	"github.com/rdma-gauntlet/gauntlet/conformance/judging"
	"github.com/rdma-gauntlet/gauntlet/conformance/meta"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/conformance/waivers"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
	wrong "github.com/rdma-gauntlet/gauntlet/impls/broken/all"
)

func selfcheckCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "selfcheck [RULE...]",
		Short: "Check the judge itself: the META rules",
		Long: `Check the judge itself by experiments in virtual time, on runs of every implementation: that a seed repeats to the byte, that each
rule catches an engine that is wrong on purpose and lets the right one pass, that a rule says nothing of a trace in which nothing
happens, and that verdicts depend neither on the clock nor on the files that they are read from.

Without a RULE all of them. META-MUT-001 runs some hundred broken engines, which takes half a minute.`,
		Example: "  gauntlet selfcheck\n  gauntlet selfcheck META-DET-001 META-CLK-001",
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return metaIDs(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			for _, id := range args {
				if !slices.Contains(metaIDs(), id) {
					return usage(fmt.Errorf("selfcheck %s: want one of %s", id, strings.Join(metaIDs(), " ")))
				}
			}
			verdicts, err := selfcheck(c.Context(), args)
			if err != nil {
				return exit{exitBroken, fmt.Sprintf("selfcheck: %v", err)}
			}
			return printVerdicts(c.OutOrStdout(), verdicts, asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the verdicts as JSON")
	return c
}

// metaIDs lists the rules of the family.
func metaIDs() (ids []string) {
	for _, r := range meta.Rules() {
		ids = append(ids, r.ID)
	}
	return ids
}

// printVerdicts prints one line per rule, and its findings; a rule that is broken is the harness's fault.
func printVerdicts(out io.Writer, verdicts []rule.Verdict, asJSON bool) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	failed := 0
	for _, v := range verdicts {
		if v.Status == rule.Fail {
			failed++
		}
		fmt.Fprintf(w, "%s\t%s\t%v\t%d times\t%s\n", v.Rule, v.Level, v.Status, v.Met, cmp.Or(v.Reason, v.Title))
		for _, f := range v.Findings {
			fmt.Fprintf(w, "\t\t\t\t  %s\n", f.Text)
		}
	}
	if asJSON {
		if err := encode(out, verdicts); err != nil {
			return err
		}
	} else if err := w.Flush(); err != nil {
		return err
	}
	if failed > 0 {
		return exit{exitBroken, fmt.Sprintf("selfcheck: %d rules are broken, by the harness", failed)}
	}
	return nil
}

// selfcheck judges the rules with these IDs, all when there are none, in the order of the catalogue.
func selfcheck(ctx context.Context, ids []string) (verdicts []rule.Verdict, err error) {
	experiments := experimentsOn(ctx)
	for _, id := range metaIDs() {
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

// experimentsOn is what judges each rule of the family. Those that need recordings share them.
func experimentsOn(ctx context.Context) map[string]func() (rule.Verdict, error) {
	recorded := sync.OnceValues(func() ([][2]*meta.Recording, error) { return recordings(ctx) })
	over := func(experiment func(meta.Judge, []rule.Rule, []*meta.Recording) (rule.Verdict, error)) func() (rule.Verdict, error) {
		return func() (rule.Verdict, error) {
			pairs, err := recorded()
			if err != nil {
				return rule.Verdict{}, err
			}
			var first []*meta.Recording
			for _, p := range pairs {
				first = append(first, p[0])
			}
			return experiment(meta.Judged, rules.All(), first)
		}
	}
	return map[string]func() (rule.Verdict, error){
		meta.Clock:    over(meta.Later),
		meta.Silence:  over(meta.Silent),
		meta.Captures: over(judgedFromFiles),
		meta.OneTap:   over(meta.FromOneTap),
		meta.Seed: func() (rule.Verdict, error) {
			pairs, err := recorded()
			if err != nil {
				return rule.Verdict{}, err
			}
			return meta.Repeated(pairs)
		},
		meta.Mutants:  func() (rule.Verdict, error) { return caught(ctx, brokenEngines()) },
		meta.SoftRoCE: func() (rule.Verdict, error) { return waived("rxe", meta.SoftRoCEDeviations) },
		meta.Devices:  func() (rule.Verdict, error) { return meta.DeviceDeviations(), nil },
	}
}

// judgedFromFiles is meta.FromFiles with a folder that is gone afterwards.
func judgedFromFiles(by meta.Judge, list []rule.Rule, over []*meta.Recording) (rule.Verdict, error) {
	dir, err := os.MkdirTemp("", "gauntlet-selfcheck-")
	if err != nil {
		return rule.Verdict{}, err
	}
	defer os.RemoveAll(dir)
	return meta.FromFiles(by, list, over, dir)
}

// waived lists deviations with the waivers that come with the program.
func waived(device string, list func([]rule.Waiver) rule.Verdict) (rule.Verdict, error) {
	known, err := waivers.Read(device)
	return list(known), err
}

// selfcheckLink is what every implementation runs over: some loss, both ways, and packets that overtake and come twice.
const selfcheckLink = `seed 7
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
			if pair[i], err = tried(ctx, impl, selfcheckLink); err != nil {
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
	impls := [2]engine.Implementation{impl, impl}
	r := &meta.Recording{Name: impl.Name, Options: judging.Declared(impls, spec.Params)}
	play := judging.Run{Job: bench.Job{Spec: spec, Impls: impls, Bytes: true}, Bench: sim.Bench{},
		Sink: func(h trace.Header, _ []trace.Viewer) (trace.Sink, error) {
			r.Header = h
			return r, nil
		}}
	if _, err := play.Prepare(); err != nil {
		return nil, err
	}
	_, err = play.Play(ctx)
	return r, err
}

// caught runs engines that are wrong on purpose, and the right ones beside them, on all processors.
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
