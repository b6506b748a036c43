package selfcheck

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/matrix"
)

// TestMutantIsCaught runs one broken engine.
func TestMutantIsCaught(t *testing.T) {
	engines := slices.DeleteFunc(Engines(), func(b matrix.Broken) bool { return b.Name != "ack-decreases" })
	v, err := caught(t.Context(), engines)
	if err != nil {
		t.Fatal(err)
	}
	if v.Met == 0 || len(engines) != 1 || strings.Contains(fmt.Sprint(v.Findings), "ack-decreases") {
		t.Errorf("%d engines, met %d, %v", len(engines), v.Met, v.Findings)
	}
}
