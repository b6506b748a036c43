package all

import (
	"slices"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/memory"
)

// TestInspection checks that a variant with wrong variables changes only those that it appends, and nothing before them
// in the list, even under the same names.
func TestInspection(t *testing.T) {
	for _, f := range Families() {
		for _, v := range f.Variants {
			h, err := v.Impl.Host(nil)
			if err != nil {
				t.Fatalf("%s: %v", v.Name, err)
			}
			req, resp, err := h.New(engine.QP{QPN: 1, DestQPN: 2, MTU: 1024, QueueDepth: 4}, &memory.Host{})
			if err != nil {
				t.Fatalf("%s: %v", v.Name, err)
			}
			for _, half := range []engine.Engine{req, resp} {
				if in, ok := half.(engine.Inspector); ok {
					inspect(t, v.Name, in)
				}
			}
		}
	}
}

// inspect lets an engine append its variables to a list that has variables with the same names.
func inspect(t *testing.T, name string, in engine.Inspector) {
	t.Helper()
	before := in.Vars(nil)
	for i := range before {
		before[i].Value = 1000 + int64(i)
	}
	after := in.Vars(slices.Clone(before))
	if len(after) != 2*len(before) || !slices.Equal(after[:len(before)], before) {
		t.Errorf("%s makes %v of %v", name, after, before)
	}
}
