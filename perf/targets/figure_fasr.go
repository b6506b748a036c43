package targets

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/perf/models"
)

func fasrFigures() []Figure {
	return []Figure{fasr2(), fasr3a(), fasr7a(), fasr7b(), fasr7c(), fasr8b()}
}

func fasr2() Figure {
	losses := []float64{1e-3, 2e-3, 5e-3, 1e-2}
	f := Figure{ID: "FS-2", Source: huang + "Fig. 2", Title: "What queries of 1.4 us in the host cost an SRNIC",
		Conditions: "RTT 6 us, MTU 1024, one QP with 8 KiB WRITEs, windows of 4000 packets, one query for each " +
			"retransmission; the loss of SRNIC over IRN under the same losses; runs of 200 000 packets",
		Says:    "at 1 % and 400 Gb/s as high as 40 %; more with more loss and more bandwidth",
		Missing: "the other points, which are only drawn"}
	p := Panel{X: lossAxis, Y: Axis{Name: "loss of throughput"}}
	for _, gbps := range []int{100, 200, 400} {
		rate := unit.Rate(gbps) * g1
		run := func(scheme string, loss float64) string {
			return scene(scheme+" cap=4000", fmt.Sprintf("link rate=%s delay=3us %s", rate, deep), lossy("A>B", loss),
				"qp qd=600 rto=40us", "load write msg=8KiB",
				fmt.Sprintf("run for=%s", 200_000*rate.Time(packet)))
		}
		c := Curve{Name: fmt.Sprintf("%d Gb/s", gbps), Metric: shortfall, Model: func(x float64) float64 {
			return models.Stall(x, 1, rate.Time(packet), query)
		},
			Ours: measured(losses, func(x float64) []string {
				return []string{run(fmt.Sprintf("impl srnic\nparam queries=1 tq=1400ns rate=%s", rate), x),
					run("impl irn\nparam", x)}
			})}
		if gbps == 400 {
			c.Paper = []Stated{{1e-2, 0.40}}
		}
		p.Curves = append(p.Curves, c)
	}
	f.Panels = []Panel{p}
	return f
}

func fasr3a() Figure {
	const product = 500
	run := func(n float64) []string {
		qps := int(n)
		return []string{scene(fmt.Sprintf("impl fasr\nparam window=%d blocks=4096 units=255", product/qps),
			fmt.Sprintf("link rate=200G delay=%s %s", product*(200*g1).Time(packet)/2, deep),
			lossy("A>B", 0.01), fmt.Sprintf("qp count=%d qd=%d rto=400us", qps, max(2, 128/qps)),
			"load write msg=8KiB", "run for=5ms")}
	}
	return Figure{ID: "FS-3a", Source: huang + "Fig. 3a", Title: "How often a QP that loses packets loses exactly one",
		Conditions: "200 Gb/s, product 500, MTU 1024, 1 % of loss, n QPs with 8 KiB WRITEs, each with an n-th of the " +
			"product as its window; runs of 5 ms; a recovery is from a loss until all that was lost is acknowledged",
		Says: "exactly one in more than 70 % of the recoveries as QPs increase; the model passes 70 % at 8 QPs",
		Missing: "points of the paper, whose text states a level and no number of QPs. The model counts the losses " +
			"of one window; a recovery lasts for more than one, until the retransmission is acknowledged, and takes " +
			"in what is lost meanwhile, so ours are below it",
		Panels: []Panel{{X: Axis{Name: "QPs", Log: true}, Y: Axis{Name: "probability"},
			Marks: []Mark{{0.7, true, "more than 70 %"}}, Curves: []Curve{
				{Name: "exactly one", Metric: single, Model: func(n float64) float64 {
					return models.ExactlyOne(5 / n)
				},
					Ours: measured([]float64{1, 2, 4, 8, 16, 32, 64}, run)}}}}}
}

func fasr7a() Figure {
	losses := []float64{1e-4, 1e-3, 1e-2, 2e-2}
	b, t := models.BDP(6*us, 100*g1, packet), (100 * g1).Time(packet)
	curve := func(name, scheme string, paper float64, model func(float64) float64, more ...string) Curve {
		return Curve{Name: name, Metric: share, Model: model, Paper: []Stated{{1e-2, paper}},
			Ours: measured(losses, func(p float64) []string {
				return []string{shorter(fabric(scheme, p, more...), "20ms")}
			})}
	}
	selective := func(p float64) float64 { return models.Selective(p, b, 500, 200) }
	return Figure{ID: "FS-7a", Source: huang + "Fig. 7a", Title: "Throughput of one QP by loss",
		Conditions: "100 Gb/s, RTT 6 us, MTU 1024, one QP with 8 KiB WRITEs, windows of 500 packets, seven " +
			"products; runs of 20 ms",
		Says: "at 1 %: FaSR and IRN lose less than 7 %, SRNIC 25 %, the CX6-Dx keeps about 10 %; " +
			"it falls from 0.1 % on",
		Missing: "the other points, which are only drawn. The CX6-Dx takes thirteen round trips for a loss where " +
			"go-back-N takes one (PT-FS-03)",
		Panels: []Panel{{X: lossAxis, Y: shareAxis, Curves: []Curve{
			curve("FaSR", withFaSR, 0.93, selective), curve("IRN", withIRN, 0.93, selective),
			curve("SRNIC", withSRNIC, 0.75,
				func(p float64) float64 { return 1 - models.Stall(p, 2, t, query) }, "qp rto=40us"),
			curve("go-back-N, CX6-Dx", plain, 0.10, func(p float64) float64 { return models.GoBackN(p, b) })}}}}
}

func fasr7b() Figure {
	curve := func(name, scheme string) Curve {
		return Curve{Name: name, Metric: share, Ours: measured([]float64{16, 256, 2048, 5000},
			func(n float64) []string { return []string{shared(scheme, 0, n)} })}
	}
	return Figure{ID: "FS-7b", Source: huang + "Fig. 7b", Title: "Throughput by QPs without loss",
		Conditions: "100 Gb/s, RTT 6 us, MTU 1024, 8 KiB WRITEs; runs of 20 ms, 80 ms above 1000 QPs, at whose end " +
			"what is not acknowledged does not count: 2 % with 5000 QPs and an ACK for each message",
		Says: "FaSR and SRNIC change little from 16 to 5000 QPs; the CX6-Dx falls from 256 on, IRN from 2000 " +
			"on, when their state misses the cache",
		Missing: "the throughputs, which are only drawn. The falls are those of caches of connection state, which " +
			"a protocol does not have (PT-FS-06 counts the state)",
		Panels: []Panel{{X: Axis{Name: "QPs", Log: true}, Y: shareAxis, Marks: []Mark{{256, false, "CX6-Dx falls"},
			{2000, false, "IRN falls"}},
			Curves: []Curve{curve("FaSR", withFaSR), curve("SRNIC", withSRNIC), curve("IRN", withIRN),
				curve("go-back-N", plain)}}}}
}

func fasr7c() Figure {
	curve := func(name, scheme string, paper ...Stated) Curve {
		return Curve{Name: name, Metric: share, Paper: paper, Ours: measured([]float64{1e-3, 1e-2},
			func(p float64) []string { return []string{shared(scheme, p, 5000)} })}
	}
	return Figure{ID: "FS-7c", Source: huang + "Fig. 7c", Title: "Throughput of 5000 QPs by loss",
		Conditions: "100 Gb/s, RTT 6 us, MTU 1024, 8 KiB WRITEs, queues of 2, a timer of 12 ms, three times what a " +
			"message waits for the line; runs of 80 ms, at whose end what is not acknowledged does " +
			"not count, up to 2 %",
		Says: "FaSR is above 92 %, SRNIC loses 25 % and IRN 30 %, the CX6-Dx is extremely low; drawn at " +
			"the 1 % of the abstract",
		Missing: "the other points. IRN's loss is that of its cache of connection state, and not in " +
			"the protocol (PT-FS-05)",
		Panels: []Panel{{X: lossAxis, Y: shareAxis, Curves: []Curve{curve("FaSR", withFaSR, Stated{1e-2, 0.92}),
			curve("SRNIC", withSRNIC, Stated{1e-2, 0.75}),
			curve("IRN", withIRN, Stated{1e-2, 0.70}), curve("go-back-N", plain)}}}}
}

func fasr8b() Figure {
	qps := []float64{1, 16, 64, 145, 256, 512}
	curve := func(name, account string, model func(float64) float64) Curve {
		return Curve{Name: name, Metric: number("memory", "B"), Account: account, Model: model,
			Ours: measured(qps, func(float64) []string { return nil })}
	}
	return Figure{ID: "FS-8b", Source: huang + "Fig. 8b", Title: "Memory for selective retransmission by QPs",
		Conditions: "counted from the engines' accounts, not run: FaSR 1600 B and a byte for each QP, SRNIC 12 B, " +
			"IRN 20 B and five bitmaps of 500 bits",
		Says:    "FaSR takes the most with few QPs, and the least above 145. IRN is passed at 5 already",
		Missing: "points of the paper: the text states the crossing alone",
		Panels: []Panel{{X: Axis{Name: "QPs"}, Y: Axis{Name: "memory", Unit: "B", Log: true},
			Marks: []Mark{{145, false, "145 QPs"}}, Curves: []Curve{
				curve("FaSR", "fasr SR memory", func(n float64) float64 { return 1600 + n }),
				curve("SRNIC", "srnic SR memory", func(n float64) float64 { return 12 * n }),
				curve("IRN", "irn SR memory", func(n float64) float64 { return n * (20 + 5*500.0/8) })}}}}
}
