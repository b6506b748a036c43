package targets

import (
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/perf/models"
)

// messageSizes are the message sizes of Figs. 4 and 6.
var messageSizes = []float64{256, 512, 1024, 2048, 4096, 8192}

func nttFigures() []Figure {
	kilometre := func(km float64) vtime.Duration { return vtime.Duration(km * float64(10*us)) } // both directions
	model := func(host vtime.Duration) func(float64) float64 {
		return func(km float64) float64 {
			return models.Moderated(128, 100, kilometre(km), host, 100*g1, 4096, 4096) / 1e9
		}
	}
	size := Axis{Name: "message", Unit: "B", Log: true}
	const box = "run for=20ms"
	standard := Curve{Name: "standard, depth 128", Metric: goodput, Model: func(x float64) float64 {
		return models.ClosedLoop(128, ms, 100*g1, int(x), 4096) / 1e9
	},
		Ours: measured(messageSizes, func(x float64) []string { return []string{accelerated(plain, int(x), ms)} })}
	deepQueue := Curve{Name: "Open APN, depth 2048", Metric: goodput, Model: func(x float64) float64 {
		return models.ClosedLoop(2048, ms, 100*g1, int(x), 4096) / 1e9
	},
		Ours: measured(messageSizes, func(x float64) []string { return []string{shorter(apn(int(x)), "100ms")} })}
	boxed := func(x float64) string { return scene(accelerated("impl pseudoack", int(x), ms), box) }
	return []Figure{
		{ID: "NT-3", Source: nttReview + "Fig. 3", Title: "Throughput of perftest by distance",
			Conditions: "100 Gb/s, WRITEs of 4 KiB, depth 128 and a completion every 100 messages, as perftest " +
				"starts; runs of 200 round trips",
			Says: "25.0, 3.0 and 0.3 Gb/s over 10, 100 and 1000 km; the depth is not given",
			Panels: []Panel{{X: Axis{Name: "distance", Unit: "km", Log: true}, Y: Axis{Name: "throughput", Unit: "Gb/s",
				Log: true}, Curves: []Curve{
				{Name: "perftest", Metric: goodput, Model: model(0), Paper: []Stated{{10, 25}, {100, 3}, {1000, 0.3}},
					Ours: measured([]float64{10, 100, 1000}, func(km float64) []string {
						return []string{perftest(kilometre(km))}
					})}}}}},
		{ID: "NT-4", Source: nttReview + "Fig. 4", Title: "Standard RDMA and RDMA over Open APN by message size",
			Conditions: "100 Gb/s, 1 ms, WRITE, MTU 4096; runs of 120 and 100 ms",
			Says: "with the deep queue overall performance over a long distance increases more " +
				"than with standard RDMA",
			Missing: "points of the paper: the text states none",
			Panels:  []Panel{{X: size, Y: goodputAxis, Curves: []Curve{standard, deepQueue}}}},
		{ID: "NT-6", Source: nttReview + "Fig. 6", Title: "Standard RDMA, Open APN and the accelerator by message size",
			Conditions: "100 Gb/s, 1 ms, WRITE, MTU 4096, the box at the depth of 128; runs of 120, 100 " +
				"and, with the box, 20 ms",
			Says: "about 35 times standard RDMA at 512 bytes (abstract); the box is better than the deep queue " +
				"from 256 bytes on, except at 8192",
			Missing: "absolute throughputs, which the text does not state. The paper's box is limited by the " +
				"packet rate of its software, ours by the line alone (PT-NT-06)",
			Panels: []Panel{
				{Title: "throughput", X: size, Y: goodputAxis, Curves: []Curve{standard, deepQueue,
					{Name: "accelerator", Metric: goodput, Ours: measured(messageSizes, func(x float64) []string {
						return []string{boxed(x)}
					})}}},
				{Title: "the accelerator over standard RDMA", X: size, Y: Axis{Name: "ratio"},
					Curves: []Curve{{Name: "accelerator", Metric: ratio, Paper: []Stated{{512, 35}},
						Ours: measured(messageSizes, func(x float64) []string {
							return []string{boxed(x), accelerated(plain, int(x), ms)}
						})}}},
			}},
	}
}
