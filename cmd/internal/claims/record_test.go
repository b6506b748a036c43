package claims

import (
	"reflect"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/units"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/perf/suite"
	"github.com/rdma-gauntlet/gauntlet/perf/targets"
)

// mostCost returns bounds of the cost and the number of runs in this test, which makes each twice.
func mostCost() (cost float64, transports int) {
	if everything {
		return 150_000, 3
	}
	return 8000, 2
}

// A recorded run equals the run that was made, bit for bit: the shortest run of every transport in a claim.
func TestRunsAreKept(t *testing.T) {
	specs, err := (&suite.Options{Targets: targets.All(), Seeds: 1, Cost: Cost}).Specs()
	if err != nil {
		t.Fatal(err)
	}
	shortest := map[string]*scenario.Spec{}
	most, transports := mostCost()
	for _, s := range specs {
		if Cost(s) > most {
			continue
		}
		if best := shortest[s.Impl[0]]; best == nil || Cost(s) < Cost(best) {
			shortest[s.Impl[0]] = s
		}
	}
	folder, err := units.OpenFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	kept := Effort{Kept: folder}
	for impl, s := range shortest {
		want, err := Measure(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		for _, how := range []string{"made", "kept"} {
			got, err := kept.measure(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got.Summary, want.Summary) || !reflect.DeepEqual(got.Shared, want.Shared) ||
				got.Spec.String() != want.Spec.String() {
				t.Errorf("%s, %s:\n%+v\nwant\n%+v", impl, how, got, want)
			}
		}
	}
	if len(shortest) < transports {
		t.Errorf("%d transports", len(shortest))
	}
}
