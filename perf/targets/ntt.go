package targets

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/perf/models"
)

const nttReview = "NTT Technical Review (Masutani et al.) "

// perftest is ib_write_bw with its defaults: depth 128, a completion every 100 messages, 4 KiB, over 100 Gb/s.
func perftest(rtt vtime.Duration) string {
	return scene(plain, fmt.Sprintf("link rate=100G delay=%s %s", rtt/2, deep),
		fmt.Sprintf("qp mtu=4096 qd=128 cqmod=100 rto=%s", 4*rtt),
		"load write msg=4KiB", fmt.Sprintf("run for=%s", 200*rtt))
}

// apn is RDMA over Open APN with perftest's tx-depth of 2048.
func apn(msg int) string {
	return scene(plain, "link rate=100G delay=500us "+deep, "qp mtu=4096 qd=2048 rto=4ms",
		fmt.Sprintf("load write msg=%d", msg), "run for=200ms")
}

// accelerated is one QP with and without the accelerator near A, at perftest's depth. It runs so long that the time to
// fill the path once does not matter.
func accelerated(scheme string, msg int, rtt vtime.Duration) string {
	return scene(scheme, fmt.Sprintf("link rate=100G delay=%s %s", rtt/2, deep), "qp mtu=4096 qd=128 rto=100ms",
		fmt.Sprintf("load write msg=%d", msg), fmt.Sprintf("run for=%s", 20*ms+100*rtt))
}

func ntt() []Target {
	measured := func(rtt, host vtime.Duration) float64 {
		return models.Moderated(128, 100, rtt, host, 100*g1, 4096, 4096) / 1e9
	}
	return []Target{
		{ID: "PT-NT-01", Source: nttReview + "2.2, Fig. 3", Class: Virtual,
			Claim: "perftest over 10 km, 0.1 ms: 25.0 Gb/s",
			Reason: "the paper does not give the depth; perftest's defaults explain all three points, this one " +
				"with 8 us in the host",
			Checks: []Check{
				{Name: "with 8 us in the host", Class: Analytic, Metric: number("goodput", "Gb/s"), Paper: 25,
					Model: measured(ms/10, 8*us), Bound: around(24.8, 0.05)},
				{Name: "without", Metric: goodput, Runs: []string{perftest(ms / 10)}, Model: measured(ms/10, 0),
					Bound: around(measured(ms/10, 0), 0.03)},
				scaledPerftest(ms / 10),
			}},
		{ID: "PT-NT-02", Source: nttReview + "2.2, Fig. 3", Class: Virtual, Claim: "100 km, 1 ms: 3.0 Gb/s",
			Reason: "the paper rounds",
			Checks: []Check{{Metric: goodput, Runs: []string{perftest(ms)}, Paper: 3.0, Model: measured(ms, 0),
				Bound: around(3.18, 0.03)}}},
		{ID: "PT-NT-03", Source: nttReview + "2.2, Fig. 3", Class: Virtual, Claim: "1000 km, 10 ms: 0.3 Gb/s",
			Reason: "the paper rounds",
			Checks: []Check{{Metric: goodput, Runs: []string{perftest(10 * ms)}, Paper: 0.3, Model: measured(10*ms, 0),
				Bound: around(0.327, 0.02)}}},
		{ID: "PT-NT-04", Source: nttReview + "4.1", Class: Analytic,
			Claim: "100 km, frames of 4178 bytes: a queue depth of about 2991",
			Checks: []Check{{Metric: number("depth", ""), Account: "openapn depth", Paper: 2991, Model: 2991,
				Bound: within(2991, 0.5)}}},
		{ID: "PT-NT-05", Source: nttReview + "4.2, Fig. 4", Class: Virtual,
			Claim:  "tx-depth 2048, 1 ms, WRITE: throughput by message size",
			Reason: "a figure without numbers, held against the closed loop", Checks: apnChecks()},
		{ID: "PT-NT-06", Source: nttReview + "abstract, 5.3, Fig. 6", Class: Hardware,
			Claim:  "512 bytes, 1 ms: the accelerator has about 35 times the throughput of standard RDMA",
			Reason: "35 is the packet rate of the paper's software; virtual time is bounded by the line alone",
			Checks: []Check{{Metric: ratio, Paper: 35, Bound: atLeast(35),
				Runs: []string{accelerated("impl pseudoack", 512, ms), accelerated(plain, 512, ms)}}}},
		{ID: "PT-NT-07", Source: nttReview + "5.3, Fig. 6", Class: Virtual,
			Claim:  "the accelerator is better than the deep queue from 256 bytes on, except at 8192",
			Reason: "at 8192 bytes the deep queue fills the line already, so there is nothing to gain",
			Checks: []Check{
				{Name: "256 bytes", Metric: ratio, Runs: []string{accelerated("impl pseudoack", 256, ms), apn(256)},
					Bound: atLeast(1)},
				{Name: "8192 bytes", Metric: ratio, Runs: []string{accelerated("impl pseudoack", 8192, ms), apn(8192)},
					Bound: Bound{0.9, 1.02}},
			}},
		{ID: "PT-NT-08", Source: nttReview + "Table 1", Class: Analytic,
			Claim:  "10, 100, 1000 km: 50 us, 500 us, 5 ms one way",
			Reason: "a parameter of the set-up: 5 us for a kilometre of fibre"},
		{ID: "PT-NT-09", Source: "for comparison; no paper", Class: Virtual,
			Claim:  "with the box, throughput does not depend on the round trip while its buffer holds a product",
			Reason: "added: what section 5 promises",
			Checks: []Check{{Name: "0.1, 1 and 4 ms", Metric: steadiness, Bound: atLeast(0.99),
				Runs: []string{accelerated("impl pseudoack", 4096, ms/10), accelerated("impl pseudoack", 4096, ms),
					accelerated("impl pseudoack", 4096, 4*ms)}}}},
	}
}

// apnChecks are checks for the message sizes of Fig. 4.
func apnChecks() []Check {
	var out []Check
	for _, msg := range []int{256, 512, 1024, 2048, 4096, 8192} {
		model := models.ClosedLoop(2048, ms, 100*g1, msg, 4096) / 1e9
		out = append(out, Check{Name: fmt.Sprintf("%d bytes", msg), Metric: goodput, Runs: []string{apn(msg)},
			Model: model, Bound: around(model, 0.02)})
	}
	return out
}
