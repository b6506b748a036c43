package targets

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/perf/models"
)

const wang = "Go-Back-ONE (Wang) "

// reduced is the product in packets of the rows of random loss: that of a tenth of the paper's 100 Gb/s and 4 of its 40
// ms, so that a run with 10 % of loss can be long enough.
const reduced = 4770

// far is a saturating load over that product, with a window of at least four products.
func far(scheme string, p float64, rto string) string {
	return scene(scheme, "link rate=10G delay=2110us "+deep, lossy("A>B", p), "qp qd=160 rto="+rto,
		"load write msg=128KiB", "run for=2s")
}

// knee is the link of Fig. 4 with loss p; delay is half the round trip.
func knee(p float64, delay string) string {
	return scene(plain, "link rate=10G delay="+delay+" "+deep, lossy("A>B", p), "qp qd=800 rto=100ms",
		"load write msg=64KiB", "run for=8s")
}

func goBackONE() []Target {
	renewal, formula := models.GoBackN(1e-5, wanProduct(40*ms)), models.GoBackNPaper(1e-5, wanProduct(40*ms))
	return []Target{
		{ID: "PT-G1-01", Source: wang + "III, Fig. 4", Class: Virtual,
			Claim: "10 Gb/s: throughput declines sharply at a loss of 0.0046 %",
			Checks: []Check{
				{Name: "half is left where loss times product is 1, RTT 19.2 ms", Metric: share,
					Runs:  []string{knee(4.6e-5, "9615us")},
					Model: models.GoBackN(4.6e-5, 1/4.6e-5), Bound: around(0.5, 0.05)},
				scaledGoBackN("the same", 1),
			}},
		{ID: "PT-G1-02", Source: wang + "IV-A", Class: Analytic,
			Claim: "goodput of go-back-N is Σ (1-e)^(k-1) e (k-1)MTU / ((k-1)MTU + B RTT)",
			Reason: "the sum averages cycles as if all lasted equally long, so it is low, by up to a fifth of the " +
				"line; throughput is the renewal form (1-e)/((1-e)+eB), and the engine keeps to that",
			Checks: []Check{
				{Name: "the formula over the renewal form, 1e-5, 40 ms", Metric: number("ratio", ""),
					Model: formula / renewal, Paper: 1, Bound: Bound{0.5, 0.999}},
				{Name: "go-back-N over the formula", Class: Virtual, Metric: share,
					Runs:  []string{wan(plain, 40*ms, 1e-5, 1)},
					Paper: formula, Model: renewal, Bound: around(renewal, 0.05)},
			}},
		{ID: "PT-G1-03", Source: wang + "V-B, Fig. 9", Class: Undefined,
			Claim: "WebSearch at 30 % load, DCQCN, 100 Gb/s, 8 ms: Go-Back-ONE 10 % better above 1 MB, " +
				"go-back-N better below",
			Reason: "at the paper's 10 % of loss go-back-N needs 111 rounds for 1 MB, thirty times the time of a " +
				"selective scheme; so the loss of the figure is another, and is not given"},
		{ID: "PT-G1-04", Source: wang + "V-B, Fig. 10", Class: Undefined, Claim: "the same with DCTCP",
			Reason: "as PT-G1-03"},
		{ID: "PT-G1-05", Source: wang + "V-B, Fig. 10", Class: Virtual,
			Claim: "10 % of loss: the receiver's utilisation converges to 90 %",
			Reason: "it is the rate at which packets arrive, copies included, not goodput; shown at a tenth " +
				"of the paper's product",
			Checks: []Check{
				{Name: "received", Metric: received, Runs: []string{far("impl gobackone", 0.1, "8500us")}, Paper: 0.9,
					Model: 0.9, Bound: within(0.9, 0.01)},
				{Name: "of which goodput", Metric: share, Runs: []string{far("impl gobackone", 0.1, "8500us")},
					Bound: Bound{0.15, 0.35}},
			}},
		{ID: "PT-G1-06", Source: wang + "V-B, Fig. 10", Class: Virtual,
			Claim: "the same: go-back-N is significantly worse",
			Checks: []Check{{Metric: ratio, Runs: []string{far("impl gobackone", 0.1, "8500us"),
				far(plain, 0.1, "8500us")}, Bound: atLeast(50)}}},
		{ID: "PT-G1-07", Source: wang + "V-A", Class: Analytic,
			Claim:  "links of 2 and 10 ms: round trips of 8 and 40 ms",
			Reason: "a parameter of the set-up: a round trip crosses four links"},
		{ID: "PT-G1-08", Source: wang + "Table I", Class: Analytic, Claim: "flow sizes of FB_Hadoop and WebSearch",
			Reason: "input of a workload, not a result"},
		{ID: "PT-G1-09", Source: "for comparison; no paper", Class: Virtual,
			Claim: fmt.Sprintf("a product of %d packets, a window of four: goodput as a share of the ceiling", reduced),
			Reason: "added: what the schemes of the papers do over the same link. The timers of the selective ones " +
				"are two and three round trips",
			Checks: []Check{
				{Name: "Go-Back-ONE at 1e-3", Metric: share, Runs: []string{far("impl gobackone", 1e-3, "12700us")},
					Bound: atLeast(0.97)},
				{Name: "Go-Back-ONE at 1e-2", Metric: share, Runs: []string{far("impl gobackone", 1e-2, "12700us")},
					Bound: atLeast(0.6)},
				{Name: "go-back-N at 1e-3", Metric: share, Runs: []string{far(plain, 1e-3, "12700us")},
					Model: models.GoBackN(1e-3, reduced), Bound: around(0.167, 0.06)},
				{Name: "go-back-N at 1e-2", Metric: share, Runs: []string{far(plain, 1e-2, "12700us")},
					Model: models.GoBackN(1e-2, reduced), Bound: around(0.020, 0.10)},
				{Name: "IRN at 1e-3", Metric: share, Runs: []string{far("impl irn\nparam cap=20000", 1e-3, "8500us")},
					Bound: within(0.98, 0.02)},
				{Name: "IRN at 1e-2", Metric: share, Runs: []string{far("impl irn\nparam cap=20000", 1e-2, "8500us")},
					Bound: within(0.89, 0.03)},
			}},
	}
}
