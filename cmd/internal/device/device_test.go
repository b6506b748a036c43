package device

import (
	"slices"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/scenarios"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// TestSide: a device as requester is at the end that posts the work, and as responder at the other end.
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

// The waivers of both roles apply to a device at both ends.
func TestSubjects(t *testing.T) {
	if got := Subjects(Both); !slices.Contains(got, Requester) || !slices.Contains(got, Responder) {
		t.Errorf("waivers of %q; want those of both roles", got)
	}
	if got := Subjects("gbn"); !slices.Equal(got, []string{"gbn"}) {
		t.Errorf("waivers of %q; want gbn's", got)
	}
}
