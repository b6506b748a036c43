package matrix

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/contract"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
)

// Two programs that each declare a recovery of their own count as different schemes; a program with itself does not.
func TestOthersAreMixed(t *testing.T) {
	mine, theirs := engine.Implementation{Name: "exec:./mine", Recover: contract.Other},
		engine.Implementation{Name: "exec:./theirs", Recover: contract.Other}
	for _, c := range []struct {
		ends  [2]engine.Implementation
		mixed bool
	}{{[2]engine.Implementation{mine, theirs}, true}, {[2]engine.Implementation{mine, mine}, false}} {
		if r := (&Row{Impls: c.ends}); (r.mixed() != "") != c.mixed {
			t.Errorf("%s with %s: %q", c.ends[0].Name, c.ends[1].Name, r.mixed())
		}
	}
}
