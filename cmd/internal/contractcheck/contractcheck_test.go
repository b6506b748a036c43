package contractcheck

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/contract"
)

// A program talks to an engine that speaks its protocol.
func TestPeer(t *testing.T) {
	for recovery, want := range map[string]string{"gbn": "gbn", "irn": "gbn", contract.Other: "gbn",
		"iwarp-ud": "writerecord", "rciw": "rciwarp"} {
		if got := peer(&contract.Capabilities{Recovery: recovery}); got != want {
			t.Errorf("%s talks to %s, want %s", recovery, got, want)
		}
	}
}
