package all

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/meta"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
)

// TestAttentiveRulesSayTheSame: the verdicts on a broken engine are the same when every check sees every sight,
// whatever its Wakes, Dozes and Minds.
func TestAttentiveRulesSayTheSame(t *testing.T) {
	every := 40
	if everything {
		every = 1
	}
	of(t, every, func(_ int, r *meta.Recording) {
		lines, err := meta.Awake(meta.Judged, rules.All(), r)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			t.Error(line)
		}
	})
}
