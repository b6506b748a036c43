package claims

import (
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/perf/targets"
)

// A refused value of a plan is named with its flag.
func TestPlansRefuse(t *testing.T) {
	grid := &Grid{RTTs: []string{"1ms"}, Losses: []string{"1e-2"}, Bursts: []int{1}, Law: "geometric",
		Rates: []string{"1G"}, Transports: []string{"gbn", "irn"}}
	bare := Bench{Name: "sim", Attempts: 1}
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"no jobs in a map", func() error {
			_, err := Atlas(grid, Effort{Seeds: 1, Jobs: 0, Confidence: 0.95}, 0, nil)
			return err
		}(), "--jobs 0: want 1 or more"},
		{"no confidence in a map", func() error {
			_, err := Atlas(grid, Effort{Seeds: 1, Jobs: 1, Confidence: 0.5}, 0, nil)
			return err
		}(), "--confidence 0.5, --margin 0"},
		{"a margin of all", func() error {
			_, err := Atlas(grid, Effort{Seeds: 1, Jobs: 1, Confidence: 0.95}, 1, nil)
			return err
		}(), "--confidence 0.95, --margin 1"},
		{"no confidence in figures", func() error {
			_, err := Figures(targets.Figures()[:1], Effort{Seeds: 1, Jobs: 1, Confidence: 1}, nil)
			return err
		}(), "--confidence 1: want more"},
		{"no attempts", func() error {
			_, err := (&Claims{Effort: Effort{Seeds: 1, Jobs: 1, Confidence: 0.95}}).Options()
			return err
		}(), "--jobs 1, --attempts 0"},
		{"no such class", func() error {
			_, err := (&Claims{Classes: "Q", Effort: Effort{Seeds: 1, Jobs: 1, Confidence: 0.95},
				Bench: bare}).Options()
			return err
		}(), "--class"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, c.err, c.want)
		}
	}
	if plan, err := Atlas(grid, Effort{Seeds: 2, Jobs: 1, Confidence: 0.95}, 0.02, nil); err != nil ||
		len(plan.Runs().Specs()) == 0 {
		t.Errorf("a plan of a map: %v", err)
	}
}
