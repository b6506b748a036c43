package enginetest_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/enginetest"
	"github.com/rdma-gauntlet/gauntlet/conformance/scenarios"
	"github.com/rdma-gauntlet/gauntlet/conformance/waivers"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/impls/broken"
	brokengbn "github.com/rdma-gauntlet/gauntlet/impls/broken/gbn"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
	"github.com/rdma-gauntlet/gauntlet/impls/rciwarp"
)

// some returns a few scenarios of the suite, so that the tests of this package are short.
func some() []scenarios.Scenario {
	return slices.DeleteFunc(scenarios.All(), func(sc scenarios.Scenario) bool {
		return !strings.HasPrefix(sc.Name, "loss-")
	})
}

// TestRun is an example of the test of a transport.
func TestRun(t *testing.T) {
	enginetest.Run(t, enginetest.Config{Engine: gbn.Implementation(), Scenarios: some()})
}

// TestOtherTransport: a transport other than RoCEv2 has other scenarios.
func TestOtherTransport(t *testing.T) {
	enginetest.Run(t, enginetest.Config{Engine: rciwarp.Implementation()})
}

// TestJudged runs this test in a process of its own with engines that fail or have nothing to run, because a failing
// subtest fails its test.
func TestJudged(t *testing.T) {
	const which = "ENGINETEST_CASE"
	cases := []struct {
		name string
		cfg  enginetest.Config
		want []string // in the output; nil is a test that passes
	}{
		{"a wrong engine", enginetest.Config{Engine: breaking("GBN-NAK-002"), Scenarios: some()},
			[]string{"--- FAIL: TestJudged/loss-", "GBN-NAK-002", "gauntlet explain GBN-NAK-002"}},
		{"a known deviation", enginetest.Config{Engine: breaking("GBN-NAK-002"), Scenarios: some(),
			Waivers: []waivers.Waiver{known("GBN-NAK-002", "2999-12-31")}}, nil},
		{"a waiver that these scenarios do not need", enginetest.Config{Engine: gbn.Implementation(), Scenarios: some(),
			Waivers: []waivers.Waiver{known("GBN-NAK-001", "2999-12-31")}}, nil},
		{"no longer waived", enginetest.Config{Engine: breaking("GBN-NAK-002"), Scenarios: some(),
			Waivers: []waivers.Waiver{known("GBN-NAK-002", "2020-12-31")}}, []string{"--- FAIL", "GBN-NAK-002"}},
		{"no scenario", enginetest.Config{Engine: gbn.Implementation(), Scenarios: []scenarios.Scenario{}},
			[]string{"no scenario is for an engine that declares [rc gbn"}},
	}
	for _, c := range cases {
		if os.Getenv(which) == c.name {
			enginetest.Run(t, c.cfg)
			return
		}
	}
	for _, c := range cases {
		cmd := exec.Command(os.Args[0], "-test.run=^TestJudged$")
		cmd.Env = append(os.Environ(), which+"="+c.name)
		out, err := cmd.CombinedOutput()
		if (err != nil) != (c.want != nil) {
			t.Errorf("%s: %v\n%s", c.name, err, out)
		}
		for _, want := range c.want {
			if !strings.Contains(string(out), want) {
				t.Errorf("%s: nothing says %q:\n%s", c.name, want, out)
			}
		}
	}
}

// breaking returns a broken engine.
func breaking(id string) engine.Implementation {
	list := brokengbn.Family().Variants
	return list[slices.IndexFunc(list, func(v broken.Variant) bool { return slices.Contains(v.Catches, id) })].Impl
}

func known(id, until string) waivers.Waiver {
	return waivers.Waiver{Rule: id, Impl: "*", Reason: "known", Owner: "us", Expires: until}
}
