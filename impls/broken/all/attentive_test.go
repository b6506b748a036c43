package all

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdma-gauntlet/gauntlet/conformance/meta"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// Of a broken engine the same is said when every check is shown every sight, whatever wakes it and whatever kinds it
// minds.
func TestAttentiveRulesSayTheSame(t *testing.T) {
	every := 40
	if everything {
		every = 1
	}
	given := rules.All()
	attentive := make([]rule.Rule, len(given))
	for i, r := range given {
		attentive[i] = r.Attentive()
	}
	of(t, every, func(_ int, r *meta.Recording) {
		judge := func(list []rule.Rule) []rule.Verdict {
			j := rule.NewJudge(r.Header, list, r.Options)
			if err := r.Play(trace.NewTimeline(&r.Header, j)); err != nil {
				t.Fatal(err)
			}
			return j.Verdicts()
		}
		if diff := cmp.Diff(judge(attentive), judge(given)); diff != "" {
			t.Errorf("%s: (-attentive +given)\n%s", r.Name, diff)
		}
	})
}
