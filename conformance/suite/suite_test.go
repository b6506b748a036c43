package suite_test

import (
	"context"
	"flag"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/extensions/globals"

	"github.com/rdma-gauntlet/gauntlet/conformance/judging"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/conformance/scenarios"
	"github.com/rdma-gauntlet/gauntlet/conformance/suite"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
)

// player is the type of suite.Config.Run.
type player = func(context.Context, string, *scenarios.Scenario, *scenario.Spec) (*suite.Result, error)

// play returns a player of scenarios on b, by implementations that find knows.
func play(b bench.Bench, find func(string) (engine.Implementation, bool)) player {
	return playAt(b, find, 0)
}

// playAt is play with a least dilation.
func playAt(b bench.Bench, find func(string) (engine.Implementation, bool), least vtime.Dilation) player {
	return func(ctx context.Context, impl string, _ *scenarios.Scenario, s *scenario.Spec) (*suite.Result, error) {
		i, _ := find(impl)
		job, err := bench.NewJob(s, [2]engine.Implementation{i, i})
		if err != nil {
			return nil, err
		}
		job.Bytes, job.Least = true, least
		r := judging.Run{Job: job, Bench: b, Rules: rules.All()}
		if err := r.Check(); err != nil {
			return nil, err
		}
		o, err := r.Play(ctx)
		status, reason := judging.Settle(o.Verdicts, o.Evidence.Certificates, err)
		return &suite.Result{Status: status, Reason: reason, Verdicts: o.Verdicts, Seed: s.Seed,
			SpecHash: job.Spec.Hash()}, err
	}
}

// TestConformance is the suite under go test: every scenario in virtual time, and with -short every tenth. Ginkgo's own
// flags select and report: go test ./conformance/suite -ginkgo.label-filter=family:NEG -ginkgo.junit-report=F.
func TestConformance(t *testing.T) {
	globals.Reset()
	list := scenarios.All()
	if testing.Short() {
		n := 0
		list = slices.DeleteFunc(list, func(scenarios.Scenario) bool { n++; return n%10 != 0 })
	}
	register(t, suite.Config{Implementations: all.Names(), Reference: all.Plain(), Scenarios: list, Bench: "sim",
		Features: declared(),
		Run:      play(sim.Bench{}, all.Find)})
	specs, reports := fromFlags()
	if out, err := os.Stdout.Stat(); err != nil || out.Mode()&os.ModeCharDevice == 0 {
		reports.NoColor = true // not on a terminal
	}
	ginkgo.RunSpecs(t, "conformance", specs, reports)
}

// declared is what each implementation declares.
func declared() map[string][]string {
	m := map[string][]string{}
	for _, i := range all.Implementations() {
		m[i.Name] = i.Declares()
	}
	return m
}

// fromFlags returns the configuration in -ginkgo.* flags. It is called before the first run, because Ginkgo replaces it
// with that of the latest run.
var fromFlags = sync.OnceValues(ginkgo.GinkgoConfiguration)

func TestMain(m *testing.M) {
	flag.Parse()
	fromFlags()
	os.Exit(m.Run())
}

func register(t *testing.T, cfg suite.Config) {
	t.Helper()
	if err := suite.Register(cfg); err != nil {
		t.Fatal(err)
	}
}

// pick returns the scenarios of these names, in this order.
func pick(t *testing.T, names ...string) []scenarios.Scenario {
	t.Helper()
	var out []scenarios.Scenario
	for _, name := range names {
		for _, s := range scenarios.All() {
			if s.Name == name {
				out = append(out, s)
			}
		}
	}
	if len(out) != len(names) {
		t.Fatalf("found %d of the scenarios %v", len(out), names)
	}
	return out
}
