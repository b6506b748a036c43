package claims

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/units"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
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

// A run with real packets is made once for a folder. One that gives no number is made again, and so is one of another
// dilation.
func TestRealRunsAreKept(t *testing.T) {
	folder, err := units.OpenFolder(t.TempDir())
	must(t, err)
	s, err := targets.Parse("impl fasr\nlink rate=10G delay=1ms\nload write msg=1KiB count=1")
	must(t, err)
	want := targets.Run{Spec: s, Shared: map[string]float64{"A pool_blocks_high": 3},
		Made: targets.Made{Dilation: 64, Wall: 12.5, Rate: 18_000}}
	want.GoodputBps = 9.1
	late, made := errors.New("INVALID: late"), 0
	measure := func(k vtime.Dilation, invalid error) (targets.Run, error) {
		c := Claims{Effort: Effort{Kept: folder}, Bench: Bench{Name: "netns", Link: "relay", Dilate: k}}
		return c.keptReal(func(context.Context, *scenario.Spec) (targets.Run, error) {
			made++
			return want, invalid
		})(t.Context(), s)
	}
	for i, step := range []struct {
		dilate  vtime.Dilation
		invalid error
		made    int // runs so far
	}{{64, late, 1}, {64, nil, 2}, {64, late, 2}, {128, nil, 3}, {0, nil, 4}, {0, nil, 4}} {
		got, err := measure(step.dilate, step.invalid)
		if failed := i == 0; (err != nil) != failed || made != step.made {
			t.Errorf("%+v: %v, %d runs made", step, err, made)
		} else if !failed && (!reflect.DeepEqual(got.Summary, want.Summary) || got.Made != want.Made ||
			!reflect.DeepEqual(got.Shared, want.Shared) || got.Spec.String() != s.String()) {
			t.Errorf("%+v:\n%+v\nwant\n%+v", step, got, want)
		}
	}
}
