package device

import (
	"slices"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/scenarios"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// TestSide: as the requester it is where the work is, as the responder at the other end.
func TestSide(t *testing.T) {
	for _, sc := range scenarios.All() {
		if sc.Name != "loss-middle" {
			continue
		}
		s, err := sc.Spec()
		if err != nil {
			t.Fatal(err)
		}
		if got := Side(Requester, s); got != trace.A {
			t.Errorf("requester at %s", got)
		}
		if got := Side(Responder, s); got != trace.B {
			t.Errorf("responder at %s", got)
		}
	}
}

// A device at both ends is excused by the waivers of both roles.
func TestSubjects(t *testing.T) {
	if got := Subjects(Both); !slices.Contains(got, Requester) || !slices.Contains(got, Responder) {
		t.Errorf("waivers of %q; want those of both roles", got)
	}
	if got := Subjects("gbn"); !slices.Equal(got, []string{"gbn"}) {
		t.Errorf("waivers of %q; want gbn's", got)
	}
}
