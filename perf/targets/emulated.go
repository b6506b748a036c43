package targets

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/perf/models"
)

// The rows of class E: claims at a hundredth or a thousandth of the rate, at which real packets between namespaces are
// possible. The quantities on which the claim depends are kept:
//
//	go-back-N       loss times product; a product a hundredth as large has a hundred times the loss
//	selective       the loss, the product, the window in products and the timer in round trips: all times are longer
//	                alike
//	queue depth     what is in flight as a share of the product
//	datagrams       the loss alone
//
// Their numbers are shares and ratios, in which the rate of the line cancels out. LoWAR's losses are proportional to
// p²·B, so it is scaled only where its window is the limit.
//
// Each is measured in virtual time, against the closed form or the bound of the full scale; "perf --bench netns"
// measures the same scenarios with the same seeds on real packets as well, and prints the difference between the two.

// scaled returns one check of such a row.
func scaled(name string, m Metric, model float64, b Bound, runs ...string) Check {
	return Check{Name: name, Class: Emulated, Metric: m, Runs: runs, Model: model, Bound: b}
}

// emulatedRTT is the round trip of slowWAN, and slowProduct its product: a hundredth of that of LoWAR's testbed.
const emulatedRTT = 40 * ms

var slowProduct = wanProduct(emulatedRTT) / 100

// slowWAN is wan at a hundredth of the rate, with loss in the direction of the data.
func slowWAN(p float64) string {
	return scene(plain, "link rate=100M delay=20ms queue=4000", lossy("A>B", p), "qp qd=24 rto=120ms",
		"load write msg=64KiB", "run for=10s")
}

// scaledGoBackN checks the share that go-back-N keeps at a loss that, multiplied by slowProduct, is times.
func scaledGoBackN(name string, times float64) Check {
	p := times / slowProduct
	model := models.GoBackN(p, slowProduct)
	return scaled(fmt.Sprintf("%s at 100 Mb/s, 40 ms, %.2g", name, p), share, model, around(model, 0.10), slowWAN(p))
}

// slowSmall is small over a slower line: the window and the round trip are the limit, and are those of the claim.
func slowSmall(scheme string, p float64) string {
	return scene(scheme, "link rate=100M delay=20ms queue=4000", lossy("A>B", p), "qp qd=128 rto=120ms",
		"load write msg=1KiB", "run for=10s")
}

// slowFabric is fabric with all times a thousand times as long, so that product, window and timer are the same in
// packets.
func slowFabric(scheme string, p float64, more ...string) string {
	lines := append([]string{scheme, "link rate=100M delay=3ms queue=4000", lossy("A>B", p), "qp qd=64 rto=18ms",
		"load write msg=8KiB", "run for=3s"}, more...)
	return scene(lines...)
}

// slowSRNIC is withSRNIC with a query time a thousand times as long.
const slowSRNIC = "impl srnic\nparam cap=500 queries=2 tq=1400us rate=100M"

// slowPerftest is perftest at a 500th of the rate over a round trip 500 times as long.
func slowPerftest(rtt vtime.Duration) string {
	return scene(plain, fmt.Sprintf("link rate=200M delay=%s queue=4000", 250*rtt),
		fmt.Sprintf("qp mtu=4096 qd=128 cqmod=100 rto=%s", 2000*rtt),
		"load write msg=4KiB", "run for=10s")
}

// scaledPerftest checks the share of the line that perftest reaches with its defaults.
func scaledPerftest(rtt vtime.Duration) Check {
	rate := 200 * g1 / 1000
	model := models.Moderated(128, 100, 500*rtt, 0, rate, 4096, 4096) / float64(rate) / models.Ceiling(4096, 4096)
	return scaled(fmt.Sprintf("at 200 Mb/s, %d ms", 500*rtt/ms), share, model, around(model, 0.05), slowPerftest(rtt))
}

// slowDatagrams is datagrams at a hundredth of the rate, so that a message takes a hundred times as long.
func slowDatagrams(op string, size, count int, p float64) string {
	return scene("impl writerecord\nparam t_reasm=200ms", "link rate=100M delay=1ms queue=4000", lossy("A>B", p),
		fmt.Sprintf("load %s msg=%d count=%d", op, size, count))
}
