// Package suite is the conformance suite as Ginkgo specs: one per implementation and scenario of its transport, so that
// it can be filtered by label, focused, and reported as JUnit.
//
// Its caller provides the function that runs a scenario, so the package knows neither implementations nor benches. A
// spec fails when the implementation broke a required rule, when a rule that the scenario names was not exercised, and
// when the run is invalid or failed; every finding is reported, not the first only.
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

// Config is the parameters of the suite.
type Config struct {
	Implementations []string // under test
	Reference       []string // implementations for which every rule that a scenario names must be exercised
	Scenarios       []scenarios.Scenario
	// features that implementations declare, also those not under test; nil runs every scenario for all
	Features map[string][]string
	Peer     string // at side B; "" is the implementation under test
	Bench    string // name of the bench of Run, for labels and reports
	Version  string // of the program that judges, for reports
	Commit   string // of that program; "" when unknown
	// reports whether an implementation can take part in a scenario; nil is always true
	Fits    func(impl string, sc *scenarios.Scenario) bool
	Timeout time.Duration // of one spec, in real time; 0 is DefaultTimeout

	// Lacks names a capability that a Spec needs and its implementations do not declare; "" for none. Such a scenario
	// is NOT-APPLICABLE and not run. Nil is no check.
	Lacks func(spec *scenario.Spec) string

	// Run runs a scenario; spec is its parsed text with impl and its peer at the sides. An error means that the harness
	// failed; bench.ErrUnsupported means that the bench cannot run the scenario, which is then NOT-APPLICABLE. A result
	// may be returned with an error; it covers the run up to the error.
	Run func(ctx context.Context, impl string, sc *scenarios.Scenario, spec *scenario.Spec) (*Result, error)

	// Observe, if not nil, is called with the outcome of each spec.
	Observe func(*Outcome)
}

// DefaultTimeout bounds a spec: scenarios are made to last seconds on a real bench.
const DefaultTimeout = 2 * time.Minute

// Register adds the specs to the Ginkgo tree; RunSpecs then runs them. The error names the scenario that does not parse
// or the missing field; on an error nothing is registered.
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

// play runs a scenario with an implementation, unless it lacks a capability, and judges it.
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

// lack calls Lacks if it is set.
func (cfg *Config) lack(spec *scenario.Spec) string {
	if cfg.Lacks == nil {
		return ""
	}
	return cfg.Lacks(spec)
}

// conclude reports an outcome and ends the spec: a scenario that is NOT-APPLICABLE is skipped with its reason.
func (cfg *Config) conclude(o *Outcome) {
	ginkgo.GinkgoHelper()
	o.Version, o.Commit = cfg.Version, cfg.Commit
	attach("verdicts", o)
	if cfg.Observe != nil {
		cfg.Observe(o)
	}
	if o.Status == rule.NotApplicable {
		ginkgo.Skip(o.String())
	}
	gomega.NewGomega(ginkgo.Fail).Expect(o).To(keepTheRules())
}

// check returns an error for a missing field or a scenario that does not parse, and sets the default Timeout.
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

// common returns the labels of all specs of an implementation.
func (cfg *Config) common(impl string) ginkgo.Labels {
	return ginkgo.Label("impl:"+labelOf(impl), cfg.Bench)
}

// labelOf returns an implementation as a label, which holds no path: for a program the last part of its path.
func labelOf(impl string) string { return impl[strings.LastIndexAny(impl, "/:")+1:] }

// levelsOfRules maps a rule to the label of its level.
func levelsOfRules() map[string]string {
	out := map[string]string{}
	for _, r := range rules.All() {
		out[r.ID] = "level:" + strings.ReplaceAll(strings.ToLower(string(r.Level)), " ", "-")
	}
	return out
}

// labels returns the labels of a spec: the rules that the scenario names, their families and levels, its folder, and
// whether it needs scripted faults.
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

// attach adds a report entry. The value is encoded here, because one that JSON cannot hold, such as a NaN, would spoil
// the whole report.
func attach(name string, v fmt.Stringer) {
	ginkgo.AddReportEntry(name, encode(v), ginkgo.ReportEntryVisibilityNever)
}
