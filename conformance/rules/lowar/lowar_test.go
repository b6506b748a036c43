package lowar

import (
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule/ruletest"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/fixture"
)

func TestFixtures(t *testing.T) { ruletest.Run(t, Rules(), "testdata") }

// A repair packet with a wrong ICRC may have been damaged before a tap whose place was inferred.
func TestDamageBeforeATap(t *testing.T) {
	const text = `
		A>B SEND_ONLY psn=+0 len=64 A
		A>B REPAIR bpsn=+0 isn=0 n=1 r=32 c=8 FIRST LAST icrc=bad
		`
	for inferred, want := range map[bool]rule.Status{false: rule.Fail, true: rule.Inconclusive} {
		f, err := fixture.Parse(strings.NewReader(text), 0)
		if err != nil {
			t.Fatal(err)
		}
		f.Header.Inferred = inferred
		j := rule.NewJudge(f.Header, []rule.Rule{sealed}, rule.Options{Features: []string{rule.CodesBlocks}})
		f.Play(trace.NewTimeline(&f.Header, j))
		if got := j.Verdicts()[0]; got.Status != want {
			t.Errorf("place inferred %v: %v, want %v; %v", inferred, got.Status, want, got.Findings)
		}
	}
}
