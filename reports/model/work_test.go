package model

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/perf/metrics"
)

func TestHeadline(t *testing.T) {
	retry, access := metrics.Failure{Status: "RETRY_EXC_ERR", Count: 1},
		metrics.Failure{Status: "REM_ACCESS_ERR", Count: 2}
	for _, c := range []struct {
		tally metrics.Tally
		want  string
	}{
		{metrics.Tally{Known: metrics.ByCompletions}, "no requests to be done"},
		{metrics.Tally{Ordered: 1, Done: 1, Known: metrics.ByCompletions}, "1 of 1 request done"},
		{metrics.Tally{Ordered: 100, Posted: 100, Done: 96, Failed: []metrics.Failure{retry}, Flushed: 3,
			Known: metrics.ByCompletions},
			"96 of 100 requests done, 1 failed (RETRY_EXC_ERR), 3 flushed"},
		{metrics.Tally{Ordered: 9, Failed: []metrics.Failure{access, retry}, Known: metrics.ByCompletions},
			"0 of 9 requests done, 3 failed (2 REM_ACCESS_ERR, 1 RETRY_EXC_ERR)"},
		{metrics.Tally{Endless: true, Posted: 9, Known: metrics.ByCompletions}, "0 requests done"},
		{metrics.Tally{Posted: 9, Done: 8, Known: metrics.ByCompletions}, "8 of 9 requests done"},
		{metrics.Tally{Ordered: 100, Done: 100, Known: metrics.ByTool}, "100 of 100 requests done, as the tool says"},
		{metrics.Tally{Ordered: 100, Done: 57, Known: metrics.ByWire},
			"57 of 100 requests done, as acknowledged on the wire"},
		{metrics.Tally{Done: 57, Known: metrics.ByWire}, "57 requests done, as acknowledged on the wire"},
		{metrics.Tally{Known: metrics.ByWire}, "0 requests done, as acknowledged on the wire"},
		{metrics.Tally{Known: metrics.ByNobody}, "unknown how many requests are done"},
		{metrics.Tally{}, "unknown how many requests are done"},
		{metrics.Tally{Ordered: 5, Known: metrics.ByNobody}, "unknown how many of 5 requests are done"},
	} {
		if got := Headline(&metrics.Work{Tally: c.tally}); got != c.want {
			t.Errorf("%+v: %q, want %q", c.tally, got, c.want)
		}
	}
}
