package run

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/perf/metrics"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// TestIdle: a run without a completed request is INCONCLUSIVE unless a rule failed; a failed request counts as
// completed.
func TestIdle(t *testing.T) {
	failed := []metrics.Failure{{Status: "RETRY_EXC_ERR", Count: 1}}
	for _, c := range []struct {
		name   string
		before rule.Status
		work   metrics.Tally
		want   rule.Status
		reason string
	}{
		{"nothing done", rule.Pass, metrics.Tally{Ordered: 9, Known: metrics.ByCompletions}, rule.Inconclusive,
			"none of its 9 requests was done"},
		{"nothing acknowledged", rule.Pass, metrics.Tally{Ordered: 9, Known: metrics.ByWire}, rule.Inconclusive,
			"none of its 9 requests was done"},
		{"endless", rule.Pass, metrics.Tally{Endless: true, Posted: 9, Known: metrics.ByCompletions}, rule.Inconclusive,
			"none of its requests was done"},
		{"some done", rule.Pass, metrics.Tally{Ordered: 9, Done: 1, Known: metrics.ByCompletions}, rule.Pass, ""},
		{"given up", rule.Pass, metrics.Tally{Ordered: 9, Failed: failed, Known: metrics.ByCompletions}, rule.Pass, ""},
		{"nothing ordered", rule.Pass, metrics.Tally{Known: metrics.ByCompletions}, rule.Pass, ""},
		{"nobody knows", rule.Pass, metrics.Tally{Ordered: 9, Known: metrics.ByNobody}, rule.Pass, ""},
		{"failed already", rule.Fail, metrics.Tally{Ordered: 9, Known: metrics.ByCompletions}, rule.Fail, ""},
	} {
		r := &model.Result{}
		r.Work.Tally = c.work
		if got, reason := idle(r, c.before, ""); got != c.want || reason != c.reason {
			t.Errorf("%s: %v %q, want %v %q", c.name, got, reason, c.want, c.reason)
		}
	}
}

// A run through a black hole has the status that the reaction of its requester earns.
func TestBlackHole(t *testing.T) {
	o := options(t, "link delay=1ms\ndrop A count=*\nqp timeout=8 retry=1\nload write msg=1KiB count=3\n")
	r := execute(t, o)
	if r.Work.Ordered != 3 || r.Work.Done != 0 || r.Work.Failures() != 1 || r.Work.Flushed != 2 || r.Status != "PASS" {
		t.Errorf("%s %s: %+v", r.Status, r.Reason, r.Work)
	}
	o = options(t, "link delay=1ms\ndrop A count=*\nqp timeout=8 retry=1\nload write msg=1KiB count=3\nrun for=300us\n")
	if r = execute(t, o); r.Status != "INCONCLUSIVE" || ExitCode(r) != 3 {
		t.Errorf("%s %s: %+v, exit code %d", r.Status, r.Reason, r.Work, ExitCode(r))
	}
}
