package targets

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/perf/models"
)

func lowarFigures() []Figure {
	return []Figure{lowar9(), lowar10(), lowar11(), lowar12(), lowar13a(), lowar13b(), lowar13c()}
}

func lowar9() Figure {
	f := Figure{ID: "LW-9", Source: lowarTestbed + "Fig. 9", Title: "Goodput of go-back-N and LoWAR over a lossy WAN",
		Conditions: "10 Gb/s, MTU 1024, 64 KiB WRITEs, loss both ways; runs of 1 s at 40 ms and 2 s at 80 ms, " +
			"go-back-N with one connection 4 s; the first half round trip, in which nothing arrives, does not count",
		Says: "2.92 Gb/s for the CX-5 at 1e-5 is of II-C, the same testbed. The text gives ratios for the rest: one " +
			"connection, 1e-5 to 1e-4, LoWAR(32,1) raises goodput by 2.05 to 5.01 times at 40 ms, and has 11.55 to " +
			"19.07 times that of the CX-5 at 80 ms; 16 connections, 1e-4: 1.28 and 1.50 times; it " +
			"keeps 87.29 % at 1e-3",
		Missing: "the points that are only drawn: the text states one goodput under loss. The CX-5 is slower than " +
			"its go-back-N explains (PT-LW-02)"}
	for _, conns := range []int{1, 16} {
		for _, rtt := range []vtime.Duration{40 * ms, 80 * ms} {
			p := Panel{Title: fmt.Sprintf("%d ms, %d connection", rtt/ms, conns), X: lossAxis, Y: goodputAxis}
			if conns > 1 {
				p.Title += "s"
			}
			p.Curves = []Curve{goodputCurve("go-back-N, CX-5", plain, rtt, conns), goodputCurve("LoWAR(32,1)",
				code(32, 1), rtt, conns), goodputCurve("LoWAR(8,1)", code(8, 1), rtt, conns)}
			if rtt == 40*ms && conns == 1 {
				p.Curves[0].Paper = []Stated{{1e-5, 2.92}}
			}
			f.Panels = append(f.Panels, p)
		}
	}
	return f
}

// goodputCurve returns the curve of one scheme over the range of losses.
func goodputCurve(name, scheme string, rtt vtime.Duration, conns int) Curve {
	length := "1s"
	switch {
	case scheme == plain && conns == 1:
		length = "4s"
	case rtt > 40*ms:
		length = "2s"
	}
	model := func(p float64) float64 { return wanCeiling * models.GoBackN(p, wanProduct(rtt)/float64(conns)) }
	for _, r := range []int{8, 32} {
		if l := coded(r, 1); scheme == code(r, 1) {
			model = func(p float64) float64 { return wanCeiling * l.Share() * l.Kept(p, wanProduct(rtt), conns) }
		}
	}
	return Curve{Name: name, Metric: goodput, Model: model, Ours: measured([]float64{1e-5, 1e-4, 1e-3},
		func(p float64) []string {
			return []string{shorter(wan(scheme, rtt, p, conns), length)}
		})}
}

func lowar10() Figure {
	losses := []float64{1e-5, 1e-4, 5e-4, 1e-3, 2e-3}
	one := func(scheme string, count int) []Point {
		return measured(losses, func(p float64) []string { return []string{megabytes(scheme, p, count)} })
	}
	fct := Axis{Name: "FCT", Unit: "ms"}
	base := 40 + 1e3*1024*packet*8/10e9
	return Figure{ID: "LW-10", Source: lowarTestbed + "Fig. 10", Title: "Completion times of 1 MB messages",
		Conditions: "10 Gb/s, 40 ms, MTU 1024, loss both ways, one message at a time: 600 for " +
			"go-back-N, 200 for LoWAR(32,1)",
		Says: "the mean FCT of the CX-5 is 12 % above LoWAR's at 1e-4 and 97 % at 5e-4; it has a tail at the " +
			"99th percentile whenever there is loss, LoWAR only above 1e-3",
		Missing: "absolute times, which the text does not state. 97 % takes 1.94 round trips for each loss where " +
			"go-back-N takes one (PT-LW-13)",
		Panels: []Panel{
			{Title: "mean", X: lossAxis, Y: fct, Curves: []Curve{
				{Name: "go-back-N, CX-5", Metric: meanFCT, Ours: one(plain, 600), Model: func(p float64) float64 {
					return base * (1 + slower(p))
				}},
				{Name: "LoWAR(32,1)", Metric: meanFCT, Ours: one(code(32, 1), 200)}}},
			{Title: "99th percentile", X: lossAxis, Y: fct, Curves: []Curve{
				{Name: "go-back-N, CX-5", Metric: tailFCT, Ours: one(plain, 600)},
				{Name: "LoWAR(32,1)", Metric: tailFCT, Ours: one(code(32, 1), 200)}}},
			{Title: "mean of go-back-N above LoWAR", X: lossAxis, Y: Axis{Name: "share"}, Curves: []Curve{
				{Name: "CX-5 over LoWAR(32,1)", Metric: increase, Model: slower,
					Paper: []Stated{{1e-4, 0.12}, {5e-4, 0.97}},
					Ours: measured(losses, func(p float64) []string {
						return []string{megabytes(plain, p, 600),
							megabytes(code(32, 1), p, 200)}
					})}}},
		}}
}

func lowar11() Figure {
	f := Figure{ID: "LW-11", Source: lowarTestbed + "Fig. 11", Title: "Goodput under bursts of loss",
		Conditions: "10 Gb/s, 40 ms, LoWAR(64,8), 64 KiB WRITEs, bad periods of a fixed length entered with 1e-4 " +
			"per packet; runs of 1 s",
		Says: "LoWAR(64,8) is stable at about 8 Gb/s until bursts are longer than 8, and maintains its " +
			"resistance beyond; the CX-5 declines",
		Missing: "the points of the CX-5, and those beyond a length of 8, which are only drawn; no closed form " +
			"for bursts of a fixed length"}
	lengths := []float64{2, 4, 6, 8, 10, 12}
	for _, h := range []float64{0.3, 0.7} {
		curve := func(name, scheme string) Curve {
			return Curve{Name: name, Metric: goodput, Ours: measured(lengths, func(n float64) []string {
				return []string{shorter(fades(scheme, h, int(n)), "1s")}
			})}
		}
		p := Panel{Title: fmt.Sprintf("loss %g in a bad period", h), X: Axis{Name: "length of a bad period",
			Unit: "packets"}, Y: goodputAxis,
			Curves: []Curve{curve("LoWAR(64,8)", code(64, 8)), curve("go-back-N, CX-5", plain)},
			Marks:  []Mark{{8, false, "stable until 8"}}}
		p.Curves[0].Paper = []Stated{{2, 8}, {4, 8}, {6, 8}, {8, 8}}
		f.Panels = append(f.Panels, p)
	}
	return f
}

func lowar12() Figure {
	sizes := []float64{1 << 10, 2 << 10, 4 << 10, 8 << 10, 16 << 10}
	curve := func(name, scheme string, p float64) Curve {
		return Curve{Name: name, Metric: goodput, Ours: measured(sizes, func(x float64) []string {
			return []string{shorter(small(scheme, p, int(x)), "8s")}
		}),
			Model: func(x float64) float64 { return models.ClosedLoop(128, 40*ms, 10*g1, int(x), 1024) / 1e9 }}
	}
	curves := []Curve{curve("go-back-N, no loss", plain, 0), curve("LoWAR(32,1)", code(32, 1), 1e-3),
		curve("go-back-N, CX-5", plain, 1e-3)}
	lossless := curves[0].Model
	curves[2].Model = func(x float64) float64 { return lossless(x) * models.WindowedGoBackN(1e-3, int(128*x/1024)) }
	curves[1].Model = nil
	return Figure{ID: "LW-12", Source: lowarTestbed + "Fig. 12", Title: "Small messages in a queue of 128",
		Conditions: "10 Gb/s, 40 ms, MTU 1024, loss 1e-3, queue depth 128; runs of 8 s; 1 to 16 KiB, as the text " +
			"does not give the sizes",
		Says:    "LoWAR has nearly the goodput of a link without loss, the CX-5 less",
		Missing: "points of the paper: the text states none",
		Panels:  []Panel{{X: Axis{Name: "message", Unit: "B", Log: true}, Y: goodputAxis, Curves: curves}}}
}

func lowar13a() Figure {
	codes := []float64{128, 64, 32, 16, 8}
	curve := Curve{Name: "one repair packet for r data packets", Metric: extra}
	for _, r := range codes {
		curve.Ours = append(curve.Ours, Point{1 / r, []string{lan(code(int(r), 1), ""), lan(plain, "")}})
	}
	curve.Model = func(x float64) float64 { return repairTime(1) * (1024*x - 1) }
	return Figure{ID: "LW-13a", Source: lowarTestbed + "Fig. 13a", Title: "What coding costs without loss",
		Conditions: "a LAN of 10 Gb/s, one message of 1 MiB, r of 8 to 128 and c of 1; coding itself " +
			"takes no virtual time",
		Says: "the extra latency is about the time of sending the repair packets, in direct correlation with " +
			"the redundancy; decoding adds little",
		Missing: "points of the paper: the text states none",
		Panels: []Panel{{X: Axis{Name: "redundancy, c / r"}, Y: Axis{Name: "FCT above no coding", Unit: "us"},
			Curves: []Curve{curve}}}}
}

func lowar13b() Figure {
	blocks := []float64{16, 32, 64, 128}
	recovery := func(name string, drop func(r int) string) Curve {
		return Curve{Name: name, Metric: extra, Ours: measured(blocks, func(r float64) []string {
			return []string{lan(code(int(r), 1), drop(int(r))), lan(code(int(r), 1), "")}
		})}
	}
	one := recovery("one loss in the last block", func(r int) string { return lastBlock(r, 1) })
	two := recovery("one in each of the last two", func(r int) string {
		return lastBlock(2*r, 1) + "\n" + lastBlock(r, 1)
	})
	limit := Curve{Name: "a block's time", Span: [2]float64{16, 128}, Model: func(r float64) float64 {
		return blockTime(int(r), 1)
	}}
	return Figure{ID: "LW-13b", Source: lowarTestbed + "Fig. 13b",
		Title: "What a recovery costs, by the length of the block",
		Conditions: "a LAN of 10 Gb/s, one message of 1 MiB, c of 1, the first packet of the last block " +
			"lost, or of the last two",
		Says: "the recovering latency is roughly proportional to the block, and nearly doubles when two blocks lose",
		Missing: "points of the paper: the text states none, and names draining the reordering buffer as the cause. " +
			"Draining takes no virtual time here, so a loss waits for its repair packet alone, and a block's time is " +
			"a bound that is not reached",
		Panels: []Panel{{X: Axis{Name: "data packets of a block, r", Log: true}, Y: Axis{Name: "FCT above no loss",
			Unit: "us"}, Curves: []Curve{one, two, limit}}}}
}

func lowar13c() Figure {
	curve := Curve{Name: "LoWAR(128,16)", Metric: extra, Ours: measured([]float64{1, 2, 4, 8, 16},
		func(n float64) []string {
			return []string{lan(code(128, 16), lastBlock(128, int(n))), lan(code(128, 16), "")}
		})}
	return Figure{ID: "LW-13c", Source: lowarTestbed + "Fig. 13c",
		Title: "What a recovery costs, by the losses in a block",
		Conditions: "a LAN of 10 Gb/s, one message of 1 MiB, LoWAR(128,16), the first packets of the " +
			"last block lost in a row",
		Says: "one loss and 16 in one block have similar recovering latency",
		Missing: "points of the paper: the text states none. Its time is that of draining the buffer, which is free " +
			"here: one loss waits for the first of 16 repair packets, a burst for the last (PT-LW-20)",
		Panels: []Panel{{X: Axis{Name: "losses in the block"}, Y: Axis{Name: "FCT above no loss", Unit: "us"},
			Curves: []Curve{curve}}}}
}
