package targets

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/workload"
	"github.com/rdma-gauntlet/gauntlet/perf/models"
)

func goBackONEFigures() []Figure {
	return []Figure{
		gb1Figure4(),
		slowdowns("G1-9", "Fig. 9", "dcqcn",
			"below 1 MB on average go-back-N has the lower slowdown, above Go-Back-ONE, by about 10 %"),
		slowdowns("G1-10a", "Fig. 10 (the first of two with this number)", "dctcp",
			"long flows as with DCQCN; for short ones both are more alike, and go-back-N is only slightly better"),
		gb1Figure10(),
	}
}

func gb1Figure4() Figure {
	losses := []float64{1e-6, 1e-5, 4.6e-5, 2e-4, 1e-3}
	f := Figure{ID: "G1-4", Source: wang + "Fig. 4", Title: "Goodput of go-back-N by loss and round trip",
		Conditions: "10 Gb/s, MTU 1024, 64 KiB WRITEs, loss on the way of the data; runs of 3 s, which at 1e-6 " +
			"meet two or three losses",
		Says: "a loss of 0.0046 % leads to a sharp decline. The formula of IV-A averages cycles as if all " +
			"lasted equally long, and is low (PT-G1-02)",
		Missing: "the round trips of the paper's curves and their points: the text states neither"}
	p := Panel{X: lossAxis, Y: shareAxis, Marks: []Mark{{4.6e-5, false, "0.0046 %"}}}
	for _, rtt := range []float64{2, 19.2, 80} { // ms
		product := rtt * 10e6 / 8 / packet
		delay := fmt.Sprintf("%dus", int(rtt*500))
		p.Curves = append(p.Curves, Curve{Name: fmt.Sprintf("%g ms", rtt), Metric: share,
			Model: func(e float64) float64 { return models.GoBackN(e, product) },
			Ours: measured(losses, func(e float64) []string {
				return []string{shorter(scene(knee(e, delay), "qp qd=3200 rto=300ms"), "3s")}
			})})
		if rtt == 19.2 {
			p.Curves = append(p.Curves, Curve{Name: "formula of IV-A, 19.2 ms", Span: [2]float64{1e-5, 1e-3},
				Model: func(e float64) float64 { return models.GoBackNPaper(e, product) }})
		}
	}
	f.Panels = []Panel{p}
	return f
}

// slowdowns is the figure of the FCT slowdown of WebSearch by the size of flows.
func slowdowns(id, where, control, says string) Figure {
	const groups = 20 // number of groups into which package metrics divides the flows, as the paper does
	run := func(scheme string) string {
		return scene(scheme, "link rate=10G delay=4ms "+deep, lossy("", 1e-4), "qp count=32 qd=4 rto=24ms cc="+control,
			"load write cdf=websearch offered=30%", "run for=3s")
	}
	cdf, err := workload.ParseCDF("websearch")
	curve := func(name, scheme string) Curve {
		c := Curve{Name: name}
		for g := range groups {
			c.Ours = append(c.Ours, Point{float64(cdf.At((float64(g) + 0.5) / groups)), []string{run(scheme)}})
		}
		return c
	}
	f := Figure{ID: id, Source: wang + where, Title: "FCT slowdown of WebSearch at 30 % load, " + control,
		Conditions: "10 Gb/s, 8 ms, 32 QPs of depth 4, loss 1e-4 both ways, no congestion, so that " + control +
			" has nothing to react to; 3 s; 95th percentile of 20 groups of flows of similar size",
		Says: says,
		Missing: "the paper's points, which are only drawn, and its conditions: with its 10 % of loss at 100 Gb/s " +
			"go-back-N cannot carry 30 % of the line at all (PT-G1-03), so ours run at a tenth of the rate and a " +
			"loss that it survives",
	}
	if err != nil {
		return f // Validate reports that there is no panel
	}
	f.Panels = []Panel{{X: Axis{Name: "flow", Unit: "B", Log: true}, Y: Axis{Name: "slowdown, 95th percentile"},
		Marks: []Mark{{1e6, false, "1 MB"}}, Curves: []Curve{curve("go-back-N", plain),
			curve("Go-Back-ONE", "impl gobackone")}}}
	for i := range f.Panels[0].Curves {
		f.Panels[0].Curves[i].PerPoint = func(n int) Metric { return slowdown(n, groups) }
	}
	return f
}

func gb1Figure10() Figure {
	losses := []float64{1e-3, 1e-2, 0.1}
	run := func(scheme string) func(float64) []string {
		return func(p float64) []string { return []string{shorter(far(scheme, p, "8500us"), "400ms")} }
	}
	return Figure{ID: "G1-10b", Source: wang + "Fig. 10 (the second of two with this number)",
		Title: "What the receiver's link carries, and what of it counts",
		Conditions: "10 Gb/s, 4.2 ms, a tenth of the paper's product of 40 ms at 100 Gb/s; windows of four products, " +
			"no rate control; runs of 400 ms. The paper plots it over time, this the mean against the loss",
		Says: "10 % of loss: Go-Back-ONE's utilisation converges to 90 %, within 5 Gb/s; go-back-N " +
			"is significantly worse",
		Missing: "the points of go-back-N, and the course over time",
		Panels: []Panel{{X: lossAxis, Y: Axis{Name: "share of the line"}, Curves: []Curve{
			{Name: "Go-Back-ONE, received", Metric: received, Model: func(p float64) float64 { return 1 - p },
				Ours: measured(losses, run("impl gobackone")), Paper: []Stated{{0.1, 0.9}}},
			{Name: "Go-Back-ONE, goodput", Metric: share, Ours: measured(losses, run("impl gobackone"))},
			{Name: "go-back-N, goodput", Metric: share, Model: func(p float64) float64 {
				return models.GoBackN(p, reduced)
			}, Ours: measured(losses, run(plain))},
		}}}}
}
