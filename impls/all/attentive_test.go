package all

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/meta"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
)

// mostAwake is for how many of the random Specs checks are kept awake, unless -ways asks for more of it.
const mostAwake = 60

// TestAttentiveRulesOverAnyLegalSpec judges runs over random Specs with checks that sleep and with checks that do not:
// the verdicts are the same.
func TestAttentiveRulesOverAnyLegalSpec(t *testing.T) {
	impls, n := Implementations(), *specs
	if *perSpec == 1 {
		n = min(n, mostAwake)
	}
	for _, seed := range seeds(t, *from, n) {
		if testing.Short() && seed%4 != 0 {
			continue
		}
		impl := impls[seed%uint64(len(impls))]
		r := recorded(t, legal(seed, impl.Name), impl)
		lines, err := meta.Awake(meta.Judged, rules.All(), r)
		if err != nil {
			t.Fatal(seed, err)
		}
		for _, line := range lines {
			t.Errorf("seed %d, %s: %s", seed, impl.Name, line)
		}
	}
}
