package all

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/meta"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
)

// Of a broken engine the same is said when every check is shown every sight, whatever wakes it and whatever kinds it
// minds.
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
