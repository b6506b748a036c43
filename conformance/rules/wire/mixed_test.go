package wire

import (
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/fixture"
)

// Two ends of different kinds each have a dialect; an end has only one, and two ends of one kind share it.
func TestDialectsOfTwoEnds(t *testing.T) {
	const (
		each = "A>B F_WRITE_ONLY psn=+0 len=8 A\nB>A RACK psn=+0 msn=0 sack=+1 PSN_SEQ_ERR\n"
		two  = "A>B F_WRITE_ONLY psn=+0 len=8 A\nA>B X_WRITE_ONLY psn=+1 len=8 A\n"
	)
	for _, c := range []struct {
		name, text string
		ends       *[2]rule.End
		want       rule.Status
	}{
		{"one kind", each, nil, rule.Fail}, {"two kinds", each, &[2]rule.End{}, rule.Pass}, {"an end with two", two,
			&[2]rule.End{}, rule.Fail},
	} {
		f, err := fixture.Parse(strings.NewReader(c.text), 0)
		if err != nil {
			t.Fatal(err)
		}
		j := rule.NewJudge(f.Header, []rule.Rule{opcodeRegistered},
			rule.Options{Features: []string{"rc"}, Ends: c.ends, Mixed: c.ends != nil})
		f.Play(trace.NewTimeline(&f.Header, j))
		if v := j.Verdicts()[0]; v.Status != c.want {
			t.Errorf("%s: %s %s %v, want %s", c.name, v.Status, v.Reason, v.Findings, c.want)
		}
	}
}
