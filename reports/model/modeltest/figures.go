package modeltest

import (
	"github.com/rdma-gauntlet/gauntlet/perf/figures"
	"github.com/rdma-gauntlet/gauntlet/perf/stats"
)

// Figures returns a new small page of figures: one with every kind of point on logarithmic axes, and one that is a
// model and a level alone.
func Figures() *figures.Set {
	half := 0.5
	return &figures.Set{Format: figures.FormatVersion, Version: "0.1.0", Commit: "0123456789abcdef",
		Started: "2026-03-01T12:00:00Z", Wall: 12.5,
		Command: "gauntlet figures XX", Confidence: 0.95, Seeds: 2, Runs: 8, Figures: []figures.Figure{
			{ID: "XX-1", Source: "A paper, Fig. 1", Title: "Goodput by loss", Conditions: "10 Gb/s", Says: "it falls",
				Missing: "what is only drawn", Panels: []figures.Panel{
					{Title: "40 ms", X: figures.Axis{Name: "loss", Log: true}, Y: figures.Axis{Name: "goodput",
						Unit: "Gb/s"}, Marks: []figures.Mark{{At: 1e-4, Text: "a knee"}}, Curves: []figures.Curve{
						{Name: "plain", Paper: [][2]float64{{1e-5, 2.92}}, Model: [][2]float64{{1e-5, 6}, {1e-4, 1}},
							Ours: []figures.Measure{
								{X: 1e-5, Model: &half, Estimate: &stats.Estimate{Value: 6, Low: 5.5, High: 6.5, N: 2},
									Values: []float64{5.9, 6.1}, Scenarios: []string{"impl gbn"}},
								{X: 1e-4, Estimate: &stats.Estimate{Value: 1, Low: 1, High: 1, N: 1}},
								{X: 1e-3, Trouble: "no memory"}}},
						{Name: "coded", Ours: []figures.Measure{{X: 1e-5,
							Estimate: &stats.Estimate{Value: 8, Low: 8, High: 8, N: 1}},
							{X: 1e-4, Estimate: &stats.Estimate{Value: 1.1, Low: 1, High: 1.2, N: 2}}}},
					}}}},
			{ID: "XX-2", Source: "A paper, Fig. 2", Title: "A level", Conditions: "nothing is run",
				Says: "more than 70 %", Missing: "a measurement", Panels: []figures.Panel{
					{X: figures.Axis{Name: "QPs", Log: true}, Y: figures.Axis{Name: "memory", Unit: "B", Log: true},
						Marks:  []figures.Mark{{At: 700, Level: true, Text: "a level"}},
						Curves: []figures.Curve{{Name: "model", Model: [][2]float64{{1, 10}, {64, 2000}}}}}}},
		}}
}
