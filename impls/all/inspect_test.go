package all

import (
	"slices"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/memory"
)

// TestInspection checks that every part of a fresh end appends its variables, changes nothing else in the list and,
// when the list has room, does not allocate: a driver asks at every event.
func TestInspection(t *testing.T) {
	for _, impl := range Implementations() {
		shown := 0
		for part, in := range inspectors(t, &impl) {
			first := engine.Var{Name: "first", Value: 1, IsPSN: true}
			list := append(make([]engine.Var, 0, 128), first)
			vars := in.Vars(nil)
			if got := in.Vars(list); len(got) == 0 || got[0] != first || !slices.Equal(got[1:], vars) {
				t.Errorf("%s: %s appends %v, want %v", impl.Name, part, got, vars)
			}
			if n := testing.AllocsPerRun(100, func() { in.Vars(list) }); n != 0 {
				t.Errorf("%s: %s: %v allocations, want none", impl.Name, part, n)
			}
			shown += len(vars)
		}
		if shown == 0 {
			t.Errorf("%s shows nothing", impl.Name)
		}
	}
}

// inspectors returns the parts of a fresh end that have variables: the halves of a QP, and the host.
func inspectors(t *testing.T, impl *engine.Implementation) map[string]engine.Inspector {
	t.Helper()
	h, err := impl.Host(nil)
	if err != nil {
		t.Fatal(err)
	}
	req, resp, err := h.New(engine.QP{QPN: 1, DestQPN: 2, MTU: 1024, QueueDepth: 4}, &memory.Host{})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]engine.Inspector{}
	for part, x := range map[string]any{"requester": req, "responder": resp, "host": h} {
		if in, ok := x.(engine.Inspector); ok {
			found[part] = in
		}
	}
	return found
}
