// Package enginetest is the conformance suite for a Go test: it plays a transport that is written as an engine against
// itself in virtual time, in a subtest per scenario. A subtest fails when the transport breaks a rule.
//
//	func TestTransport(t *testing.T) {
//		enginetest.Run(t, enginetest.Config{Engine: transport.Implementation()})
//	}
//
// Nothing runs in real time or needs privileges, so a commit gives the same result everywhere. A program that is no Go
// engine is judged by the command gauntlet conform --impl exec:PATH.
package enginetest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/rdma-gauntlet/gauntlet/conformance/judging"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/conformance/scenarios"
	"github.com/rdma-gauntlet/gauntlet/conformance/suite"
	"github.com/rdma-gauntlet/gauntlet/conformance/waivers"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
)

// Config is the engine to judge, and the parameters of the suite.
type Config struct {
	Engine    engine.Implementation // at both ends of every run
	Scenarios []scenarios.Scenario  // nil is scenarios.All; scenarios of other transports are left out
	Waivers   []waivers.Waiver      // known deviations, which do not fail a subtest until their waivers expire
}

// Run plays the scenarios as parallel subtests with their names. A subtest fails on a broken rule, with every finding
// and the command that explains the rule, and on a run that does not end. It is skipped, with the reason, if the engine
// does not support the scenario.
func Run(t *testing.T, cfg Config) {
	t.Helper()
	list := cfg.suitable()
	if len(list) == 0 {
		t.Fatalf("enginetest: no scenario is for an engine that declares %v", cfg.Engine.Declares())
	}
	book := rules.All()
	for _, sc := range list {
		t.Run(sc.Name, func(t *testing.T) {
			t.Parallel()
			o := cfg.play(t.Context(), &sc, book)
			switch {
			case o.Status == rule.NotApplicable:
				t.Skip(o.Reason)
			case !o.Passed():
				t.Error(o)
			}
		})
	}
}

// suitable returns the scenarios for the transport of the engine. The engines of this repository define which scenarios
// are for other transports.
func (cfg *Config) suitable() []scenarios.Scenario {
	list := slices.Clone(cfg.Scenarios)
	if list == nil {
		list = scenarios.All()
	}
	known := suite.Config{Features: map[string][]string{}}
	for _, i := range all.Implementations() {
		known.Features[i.Name] = i.Declares()
	}
	known.Features[cfg.Engine.Name] = cfg.Engine.Declares()
	return slices.DeleteFunc(list, func(sc scenarios.Scenario) bool { return !known.Suits(cfg.Engine.Name, &sc) })
}

// play runs a scenario and returns its outcome.
func (cfg *Config) play(ctx context.Context, sc *scenarios.Scenario, book []rule.Rule) *suite.Outcome {
	const where = "sim"
	name := cfg.Engine.Name
	spec, err := sc.Spec()
	if err != nil {
		return suite.Judge(name, where, sc, nil, err, false)
	}
	spec.Impl = [2]string{name, name}
	o, err := judging.Simulate(ctx, spec, cfg.Engine, book)
	if o == nil {
		return suite.Judge(name, where, sc, nil, err, false)
	}
	waivers.Excuse(o.Verdicts, waivers.In(sc.Name, cfg.Waivers), waivers.Device{Names: []string{name}},
		time.Now().UTC().Format(time.DateOnly))
	r := &suite.Result{Verdicts: o.Verdicts, Seed: spec.Seed}
	r.Status, r.Reason = judging.Settle(o.Verdicts, o.Evidence.Certificates, err)
	if f := bench.FaultOf(err); f != nil {
		r.Fault = f.Side.String()
	}
	return suite.Judge(name, where, sc, r, nil, false) // Settle has taken the error into account
}
