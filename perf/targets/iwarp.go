package targets

import (
	"fmt"
	"math"

	"github.com/rdma-gauntlet/gauntlet/perf/models"
)

const grant = "RDMA Capable iWARP over Datagrams (Grant et al.) "

// datagrams sends Write-Records or SENDs one after the other over a link that loses frames; the peer acknowledges
// nothing. An incomplete message is given up soon, so that it does not hold a receive buffer that the next one needs.
func datagrams(op string, size, count int, p float64) string {
	return scene("impl writerecord\nparam t_reasm=2ms", "link rate=10G delay=10us "+deep, lossy("A>B", p),
		fmt.Sprintf("load %s msg=%d count=%d", op, size, count))
}

func datagramIWARP() []Target {
	skip := func(id, where, claim, why string) Target {
		return Target{ID: id, Source: grant + where, Class: Hardware, Claim: claim, Reason: why}
	}
	const stack = "the latency of a software stack of 2010 on its hosts"
	return []Target{
		skip("PT-DI-01", "VI-A1, Fig. 5", "below 128 bytes: 27 to 28 us over UD", stack),
		skip("PT-DI-02", "VI-A1, Fig. 5", "below 128 bytes: 33 us over RC", stack),
		skip("PT-DI-03", "VI-A1", "up to 2 KB: 18.1 % and 24.4 % less latency than RC", stack),
		skip("PT-DI-04", "VI-A1", "16 to 64 KB: RC slightly better, above: UD", stack),
		skip("PT-DI-05", "VI-A1, Fig. 6", "1 KB: 2.89 times the bandwidth of RC", stack),
		skip("PT-DI-06", "VI-A1, Fig. 6", "512 KB: 3.56 times the bandwidth of RC", stack),
		skip("PT-DI-07", "VI-A1, Fig. 6", "256 KB: 33.4 % more bandwidth than RC", stack),
		{ID: "PT-DI-08", Source: grant + "VI-A2, Fig. 7", Class: Virtual,
			Claim:  "send/receive: large messages collapse with loss, for every fragment is needed",
			Checks: datagramChecks("send", models.Datagrams{Segment: 65000, Header: 8 + 18 + 4, Fragment: 1480})},
		{ID: "PT-DI-09", Source: grant + "VI-A2, Fig. 8", Class: Virtual,
			Claim:  "Write-Record: a dip at 64 KB, steady above, a collapse at 5 %",
			Checks: datagramChecks("write", models.Datagrams{Segment: 65000, Header: 8 + 14 + 16 + 4, Fragment: 1480})},
		skip("PT-DI-10", "VI-B1, Fig. 9", "streaming starts 74.1 % sooner", "application and HTTP are mixed in"),
		skip("PT-DI-11", "VI-B2, Fig. 10", "response times 43.1 % shorter", "an application"),
		skip("PT-DI-12", "VI-B2, Fig. 11", "10 000 clients: 24.1 % less memory",
			"an application's, of which the transport is a part"),
		skip("PT-DI-13", "VI-B", "the socket shim costs 2 %", "an application"),
		skip("PT-DI-14", "III", "send/receive for HPC: 30 % less memory, 40 % less run time", "cited from other work"),
		{ID: "PT-DI-15", Source: "RFC 5044, 4.3", Class: Analytic, Claim: "markers take 0.78 % of the stream",
			Checks: []Check{{Metric: number("share", ""), Account: "mpa markers", Paper: 0.0078, Model: 4.0 / 512,
				Bound: within(4.0/512, 1e-9)}}},
	}
}

// datagramChecks are checks for the sizes and losses of Figs. 7 and 8, and for one of them at a hundredth of the rate,
// where only the loss matters.
func datagramChecks(op string, d models.Datagrams) []Check {
	var out []Check
	for _, size := range []int{64 << 10, 512 << 10, 1 << 20} {
		for _, p := range []float64{0.001, 0.005, 0.01, 0.05} {
			count := 128 << 20 / size
			mean, slack := deliveredShare(d, op, p, size, count)
			out = append(out, Check{Name: fmt.Sprintf("%d KiB at %g %%", size>>10, p*100), Metric: delivered,
				Runs: []string{datagrams(op, size, count, p)}, Model: mean, Bound: within(mean, slack)})
		}
	}
	const size, count, p = 64 << 10, 400, 0.005
	mean, slack := deliveredShare(d, op, p, size, count)
	return append(out, scaled("64 KiB at 0.5 % over 100 Mb/s", delivered, mean, within(mean, slack),
		slowDatagrams(op, size, count, p)))
}

// deliveredShare returns the mean share of count messages that arrives, and three standard deviations of it, because
// runs with several seeds are stricter than one.
func deliveredShare(d models.Datagrams, op string, p float64, size, count int) (mean, slack float64) {
	mean = d.SendReceive(p, size)
	deviation := math.Sqrt(mean * (1 - mean))
	if op == "write" {
		mean, deviation = d.WriteRecord(p, size)
	}
	return mean, 3*deviation/math.Sqrt(float64(count)) + 1/float64(count) // one message more or less
}
