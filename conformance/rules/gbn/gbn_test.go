package gbn

import (
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule/ruletest"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/fixture"
)

func TestFixtures(t *testing.T) { ruletest.Run(t, Rules(), "testdata") }

// A packet that comes again alone may have been copied before a tap whose place was inferred. A requester goes on from
// the packet that it sends again.
func TestCopyBeforeATap(t *testing.T) {
	const text = `
		qp rto=100us
		A>B WRITE_ONLY psn=+0 len=8 A
		A>B WRITE_ONLY psn=+1 len=8
		A>B WRITE_ONLY psn=+2 len=8
		B>A ACK psn=+0 msn=1
		@300 A>B WRITE_ONLY psn=+2 len=8
		A>B WRITE_ONLY psn=+3 len=8 A
		@600 A>B WRITE_ONLY psn=+2 len=8
		`
	for _, c := range []struct {
		inferred bool
		then     string
		want     int
	}{
		{false, "A>B WRITE_ONLY psn=+4 len=8\n", 2},
		{true, "A>B WRITE_ONLY psn=+4 len=8\n", 0},
		{true, "A>B WRITE_ONLY psn=+5 len=8\n", 0}, // one was lost before the tap
		{true, "A>B WRITE_ONLY psn=+3 len=8\n", 1},
	} {
		f, err := fixture.Parse(strings.NewReader(text+c.then), 0)
		if err != nil {
			t.Fatal(err)
		}
		f.Header.Inferred = c.inferred
		j := rule.NewJudge(f.Header, []rule.Rule{timeoutFromUNA}, rule.Options{Features: []string{scheme}})
		f.Play(trace.NewTimeline(&f.Header, j))
		if got := j.Verdicts()[0].Findings; len(got) != c.want {
			t.Errorf("place inferred %v, then %q: %v, want %d", c.inferred, c.then, got, c.want)
		}
	}
}
