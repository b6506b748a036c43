package targets

import (
	"fmt"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/perf/models"
)

// lowarTestbed names the source of the conditions of these rows.
const lowarTestbed = "LoWAR (Zuo et al.) "

// plain and code are the schemes of the testbed: the CX-5's go-back-N, and LoWAR with its parameters.
const plain = "impl gbn"

func code(r, c int) string { return fmt.Sprintf("impl lowar\nparam r=%d c=%d", r, c) }

// coded is the model of the scheme code.
func coded(r, c int) models.LoWAR { return models.LoWAR{R: r, C: c, Data: packet, Extra: 1130} }

// wanProduct is the bandwidth-delay product of the emulated link, 10 Gb/s.
func wanProduct(rtt vtime.Duration) float64 { return models.BDP(rtt, 10*g1, packet) }

// wanCeiling is the goodput of 64 KiB messages over this link without loss, in Gb/s.
var wanCeiling = 10 * models.Ceiling(64<<10, 1024)

// wan is a saturating load of conns connections over the emulated link: bidirectional loss, and queues of twice the
// product, so that the line is the limit. The timer is three round trips. Go-back-N runs longer because its cycles are
// longer, and because the random losses have a greater effect on each; at 1e-3 and above there are many cycles, and the
// goodput is near zero.
func wan(scheme string, rtt vtime.Duration, p float64, conns int) string {
	seconds := 2
	switch {
	case scheme == plain && p > 0 && p < 1e-3 && conns == 1:
		seconds = 8
	case p == 0:
		seconds = 1 // nothing is random
	case scheme == plain && rtt > 40*ms:
		seconds = 3
	}
	depth := int(2*wanProduct(rtt)*1024/(64<<10))/conns + 8
	return scene(scheme, fmt.Sprintf("link rate=10G delay=%s %s", rtt/2, deep), lossy("", p),
		fmt.Sprintf("qp count=%d qd=%d rto=%s", conns, depth, 3*rtt), "load write msg=64KiB",
		fmt.Sprintf("run for=%ds", seconds))
}

// megabytes sends 1 MB messages one after the other over the emulated link.
func megabytes(scheme string, p float64, count int) string {
	return scene(scheme, "link rate=10G delay=20ms "+deep, lossy("", p), "qp qd=1 rto=120ms",
		fmt.Sprintf("load write msg=1MiB count=%d", count))
}

// lan sends one such message over 10 Gb/s without a WAN, to measure the cost of the coding itself.
func lan(scheme string, drop string) string {
	return scene(scheme, "link rate=10G delay=5us "+deep, drop, "qp qd=1 rto=20ms", "load write msg=1MiB count=1")
}

// fades is Fig. 11: 64 KiB messages through bad periods of a fixed length.
func fades(scheme string, h float64, length int) string {
	return scene(scheme, "link rate=10G delay=20ms "+deep, fmt.Sprintf("loss burst p=1e-4 h=%g len=%d", h, length),
		"qp qd=1500 rto=120ms", "load write msg=64KiB", "run for=1500ms")
}

// small is Fig. 12: 128 small messages in flight. Loss in the reverse direction would have no measurable effect.
func small(scheme string, p float64, msg int) string {
	return scene(scheme, "link rate=10G delay=20ms "+deep, lossy("A>B", p), "qp qd=128 rto=120ms",
		fmt.Sprintf("load write msg=%d", msg), "run for=20s")
}

// loWAR returns the claims of the LoWAR paper.
func loWAR() []Target {
	return slices.Concat(lowarGoodput, lowarTimes, lowarHarder, lowarCoding, lowarResources)
}

// lowarGains are the checks that compare LoWAR(32,1) with go-back-N at both ends of the range of losses.
func lowarGains(rtt vtime.Duration, at5, at4 float64) []Check {
	var out []Check
	for _, k := range []struct {
		name                string
		p, paper, tolerance float64
	}{{"1e-5", 1e-5, at5, 0.05}, {"1e-4", 1e-4, at4, 0.10}} {
		model := gain(k.p, rtt, 1)
		goal := wanCeiling * coded(32, 1).Efficiency(k.p, wanProduct(rtt))
		out = append(out,
			Check{Name: "LoWAR at " + k.name, Metric: goodput, Runs: []string{wan(code(32, 1), rtt, k.p, 1)},
				Model: goal, Bound: around(goal, 0.03)},
			Check{Name: "gain at " + k.name, Metric: ratio, Paper: k.paper, Model: model,
				Bound: around(model, k.tolerance),
				Runs:  []string{wan(code(32, 1), rtt, k.p, 1), wan(plain, rtt, k.p, 1)}})
	}
	return out
}

// gain is the goodput of LoWAR(32,1) over that of go-back-N, for each of n connections that share the line.
func gain(p float64, rtt vtime.Duration, n int) float64 {
	l := coded(32, 1)
	return l.Share() * l.Kept(p, wanProduct(rtt), n) / models.GoBackN(p, wanProduct(rtt)/float64(n))
}

// slower is the relative increase of the mean FCT of a 1 MB message with go-back-N: a round trip for every loss, in
// addition to one round trip and the message's time on the line.
func slower(p float64) float64 {
	const n = 1024
	base := 40.0 + 1e3*n*packet*8/10e9
	return models.Rounds(n, p) * 40 / base
}

// burstChecks are Fig. 11 at burst lengths below, at and above the interleaving depth of (64,8). Above it, and with
// most of a burst lost, both schemes deliver little, and their ratio needs a longer run.
func burstChecks() []Check {
	var out []Check
	for _, h := range []float64{0.3, 0.7} {
		beyond := "1500ms"
		if h > 0.5 {
			beyond = "4s"
		}
		for _, n := range []int{4, 8} {
			out = append(out, Check{Name: fmt.Sprintf("loss %g, length %d", h, n), Metric: goodput, Paper: 8,
				Runs: []string{fades(code(64, 8), h, n)}, Bound: atLeast(8)})
		}
		out = append(out, Check{Name: fmt.Sprintf("loss %g, length 10, over go-back-N", h), Metric: ratio,
			Bound: atLeast(1.2),
			Runs:  []string{shorter(fades(code(64, 8), h, 10), beyond), shorter(fades(plain, h, 10), beyond)}})
	}
	return out
}

// smallChecks are Fig. 12 for messages of 1, 4 and 16 packets, each as a share of the same without loss, and the first
// also over a slower line.
func smallChecks() []Check {
	var out []Check
	for _, n := range []int{1, 4, 16} {
		msg := n << 10
		kept := models.WindowedGoBackN(1e-3, 128*n)
		out = append(out,
			Check{Name: fmt.Sprintf("LoWAR, %d KiB", n), Metric: ratio, Paper: 1, Bound: Bound{0.97, 1.001},
				Runs: []string{small(code(32, 1), 1e-3, msg), small(code(32, 1), 0, msg)}},
			Check{Name: fmt.Sprintf("go-back-N, %d KiB", n), Metric: ratio, Model: kept, Bound: around(kept, 0.06),
				Runs: []string{small(plain, 1e-3, msg), small(plain, 0, msg)}})
	}
	kept := models.WindowedGoBackN(1e-3, 128)
	return append(out,
		scaled("LoWAR, 1 KiB over 100 Mb/s", ratio, 1, Bound{0.97, 1.001}, slowSmall(code(32, 1), 1e-3),
			slowSmall(code(32, 1), 0)),
		scaled("go-back-N, 1 KiB over 100 Mb/s", ratio, kept, around(kept, 0.06), slowSmall(plain, 1e-3),
			slowSmall(plain, 0)))
}

// repairTime is the time of n repair packets on the line of the LAN, in us; those of the last block are sent after the
// data.
func repairTime(n int) float64 { return float64(n) * 1130 * 8 / 10e9 * 1e6 }

// blockTime is the time of a block and its repair packets on that line.
func blockTime(r, c int) float64 { return float64(r+c) * packet * 8 / 10e9 * 1e6 }

// lastBlock drops n packets at the beginning of the last block of a megabyte.
func lastBlock(r, n int) string { return fmt.Sprintf("drop A psn=+%d..+%d tx=1", 1024-r, 1024-r+n-1) }
