package recording

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// TestAgreed: the timeout and the retries of a REQ are those of its receiver, and a value on which the REP does not
// agree is of no end.
func TestAgreed(t *testing.T) {
	req := roce.REQ{ACKTimeout: 14, RetryCount: 5, RNRRetryCount: 6, InitiatorDepth: 9, ResponderResources: 4}
	for _, c := range []struct {
		rep  roce.REP
		want [2]map[string]string
	}{
		{roce.REP{RNRRetryCount: 6, ResponderResources: 9, InitiatorDepth: 4}, [2]map[string]string{
			{"rnr": "6", "rd": "9", "dest-rd": "4"},
			{"timeout": "14", "retry": "5", "rnr": "6", "rd": "4", "dest-rd": "9"}}},
		{roce.REP{RNRRetryCount: 7, ResponderResources: 8, InitiatorDepth: 4}, [2]map[string]string{
			{"dest-rd": "4"}, {"timeout": "14", "retry": "5", "rd": "4"}}},
	} {
		s := newSetUp(trace.End{}, trace.End{}, &req, &c.rep)
		got := [2]map[string]string{s.agreed[0].words(), s.agreed[1].words()}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%+v:\n%s", c.rep, diff)
		}
	}
}
