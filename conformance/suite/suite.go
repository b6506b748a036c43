// Package suite is the conformance suite as Ginkgo specs: one per implementation and scenario of its transport, so that
// it can be filtered by label, focused, and reported as JUnit.
//
// It is given the function that runs a scenario, and so knows neither implementations nor benches. A spec fails when
// the implementation broke a required rule, when a rule that the scenario is there for was not exercised, and when the
// run itself cannot be trusted; every finding is reported, not the first.
package suite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/conformance/scenarios"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
)

// Config says what to run, where, and how.
type Config struct {
	Implementations []string // under test
	Reference       []string // those of which every rule that a scenario names must get a verdict
	Scenarios       []scenarios.Scenario
	// what implementations declare, those not under test included; nil runs every scenario for all
	Features map[string][]string
	Peer     string // at side B; "" is the implementation under test
	Bench    string // where Run runs, for labels and reports
	// leaves scenarios out that an implementation cannot take part in; nil leaves none
	Fits    func(impl string, sc *scenarios.Scenario) bool
	Timeout time.Duration // of one spec, in real time; 0 takes DefaultTimeout

	// Lacks names what a Spec asks of an implementation that does not declare it, "" when nothing. Such a scenario is
	// NOT-APPLICABLE and not run. Nil means that everything can be asked of everybody.
	Lacks func(spec *scenario.Spec) string

	// Run runs a scenario; spec is its parsed text with impl and its peer at the sides. An error means that the harness
	// broke, or with bench.ErrUnsupported that the bench has no such thing: then the scenario is NOT-APPLICABLE. A
	// result that comes with it is reported as far as it got.
	Run func(ctx context.Context, impl string, sc *scenarios.Scenario, spec *scenario.Spec) (*Result, error)

	// Observe is called with the outcome of each spec when it is known, if not nil.
	Observe func(*Outcome)
}

// DefaultTimeout bounds a spec: scenarios are made to last seconds on a real bench.
const DefaultTimeout = 2 * time.Minute

// Register adds the specs to the Ginkgo tree; RunSpecs then runs them. The error names the scenario that does not parse
// or the field that is missing, and nothing is registered then.
func Register(cfg Config) error {
	if err := cfg.check(); err != nil {
		return err
	}
	levels := levelsOfRules()
	ginkgo.Describe("conformance", func() {
		for _, impl := range cfg.Implementations {
			ginkgo.Context(impl, cfg.common(impl), func() {
				for sc := range cfg.suiting(impl) {
					ginkgo.It(sc.Name, labels(sc, levels), ginkgo.SpecTimeout(cfg.Timeout),
						func(ctx ginkgo.SpecContext) {
							cfg.verify(ctx, impl, sc)
						})
				}
			})
		}
	})
	return nil
}

// verify is the body of a spec.
func (cfg *Config) verify(ctx ginkgo.SpecContext, impl string, sc *scenarios.Scenario) {
	ginkgo.GinkgoHelper()
	cfg.conclude(cfg.play(ctx, impl, sc))
}

// play runs a scenario with an implementation, unless it asks for what is not declared, and judges it.
func (cfg *Config) play(ctx context.Context, impl string, sc *scenarios.Scenario) *Outcome {
	spec, err := sc.Spec()
	var r *Result
	if err == nil {
		spec.Impl = [2]string{impl, cmp.Or(cfg.Peer, impl)}
		if what := cfg.lack(spec); what != "" {
			return &Outcome{Impl: impl, Scenario: sc.Name, Title: sc.Title, Bench: cfg.Bench,
				Status: rule.NotApplicable, Reason: what}
		}
		r, err = cfg.Run(ctx, impl, sc, spec)
	}
	return Judge(impl, cfg.Bench, sc, r, err, slices.Contains(cfg.Reference, impl))
}

// lack is what a Spec asks of an implementation that does not declare it.
func (cfg *Config) lack(spec *scenario.Spec) string {
	if cfg.Lacks == nil {
		return ""
	}
	return cfg.Lacks(spec)
}

// conclude reports an outcome and ends the spec by it: a scenario that is not applicable is skipped, for the reason
// given.
func (cfg *Config) conclude(o *Outcome) {
	ginkgo.GinkgoHelper()
	attach("verdicts", o)
	if cfg.Observe != nil {
		cfg.Observe(o)
	}
	if o.Status == rule.NotApplicable {
		ginkgo.Skip(o.String())
	}
	gomega.NewGomega(ginkgo.Fail).Expect(o).To(keepTheRules())
}

// check looks at what is given, and at every scenario.
func (cfg *Config) check() error {
	if cfg.Run == nil || len(cfg.Implementations) == 0 || len(cfg.Scenarios) == 0 {
		return errors.New("suite: give Run, and at least one implementation and one scenario")
	}
	cfg.Timeout = cmp.Or(cfg.Timeout, DefaultTimeout)
	for i := range cfg.Scenarios {
		if _, err := cfg.Scenarios[i].Spec(); err != nil {
			return err
		}
	}
	return nil
}

// suiting yields the scenarios that an implementation takes part in.
func (cfg *Config) suiting(impl string) iter.Seq[*scenarios.Scenario] {
	return func(yield func(*scenarios.Scenario) bool) {
		for i := range cfg.Scenarios {
			sc := &cfg.Scenarios[i]
			if cfg.Suits(impl, sc) && (cfg.Fits == nil || cfg.Fits(impl, sc)) && !yield(sc) {
				return
			}
		}
	}
}

// common are the labels of all specs of an implementation.
func (cfg *Config) common(impl string) ginkgo.Labels {
	return ginkgo.Label("impl:"+labelOf(impl), cfg.Bench)
}

// labelOf is an implementation in a label, which holds no path: of a program its last part.
func labelOf(impl string) string { return impl[strings.LastIndexAny(impl, "/:")+1:] }

// levelsOfRules maps a rule to the label of its level.
func levelsOfRules() map[string]string {
	out := map[string]string{}
	for _, r := range rules.All() {
		out[r.ID] = "level:" + strings.ReplaceAll(strings.ToLower(string(r.Level)), " ", "-")
	}
	return out
}

// labels are what a spec can be filtered by: the rules that the scenario names, their families and levels, its folder,
// and whether it needs scripted faults.
func labels(sc *scenarios.Scenario, levels map[string]string) ginkgo.Labels {
	var out ginkgo.Labels
	add := func(label string) {
		if label != "" && !slices.Contains(out, label) {
			out = append(out, label)
		}
	}
	for _, id := range sc.Rules {
		family, _, _ := strings.Cut(id, "-")
		add("family:" + family)
		add(levels[id])
	}
	for _, id := range sc.Rules {
		add(id)
	}
	if sc.NeedsFaults {
		add("faults")
	}
	if folder, _, ok := strings.Cut(sc.Name, "/"); ok {
		add(folder)
	}
	return out
}

// attach adds a report entry. A value that JSON cannot hold, such as a NaN, would spoil the whole report, so what is
// attached has been encoded before.
func attach(name string, v fmt.Stringer) {
	ginkgo.AddReportEntry(name, encode(v), ginkgo.ReportEntryVisibilityNever)
}
