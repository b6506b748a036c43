package targets

import "github.com/rdma-gauntlet/gauntlet/perf/models"

// fasrRecovery are the claims on the throughput of one and of many QPs over a link that loses packets.
var fasrRecovery = []Target{
	{ID: "PT-FS-01", Source: huang + "V-B, Fig. 7a", Class: Virtual,
		Claim: "one QP, 1 % of loss: FaSR and IRN lose less than 7 %",
		Reason: "needs a window far above the product of 68 packets: with one of the product every loss stops the " +
			"sender for a round trip",
		Checks: []Check{
			{Name: "FaSR", Metric: share, Runs: []string{fabric(withFaSR, 0.01)}, Paper: 0.93,
				Model: models.Selective(0.01, fabricProduct, 500, 200), Bound: atLeast(0.93)},
			{Name: "IRN", Metric: share, Runs: []string{fabric(withIRN, 0.01)}, Paper: 0.93,
				Model: models.Selective(0.01, fabricProduct, 500, 200), Bound: atLeast(0.93)},
			{Name: "IRN with a window of one product", Metric: share, Runs: []string{fabric("impl irn\nparam cap=68",
				0.01)}, Bound: atMost(0.8)},
			scaled("FaSR at 100 Mb/s, 6 ms", share, models.Selective(0.01, fabricProduct, 500, 200), atLeast(0.93),
				slowFabric(withFaSR, 0.01)),
			scaled("IRN at 100 Mb/s, 6 ms", share, models.Selective(0.01, fabricProduct, 500, 200), atLeast(0.93),
				slowFabric(withIRN, 0.01)),
		}},
	{ID: "PT-FS-02", Source: huang + "V-B, Fig. 7a", Class: Virtual,
		Claim: "the same: SRNIC loses 25 %",
		Checks: []Check{
			{Metric: share, Runs: []string{fabric(withSRNIC, 0.01, "qp rto=40us")}, Paper: 0.75,
				Model: 1 - models.Stall(0.01, 2, fabricPacket, query), Bound: within(0.76, 0.02)},
			scaled("at 100 Mb/s, 6 ms", share, 1-models.Stall(0.01, 2, fabricPacket, query), within(0.76, 0.04),
				slowFabric(slowSRNIC, 0.01, "qp rto=40ms")),
		}},
	{ID: "PT-FS-03", Source: huang + "V-B, Fig. 7a", Class: Virtual,
		Claim: "the same: the CX6-Dx is left with 10 %",
		Reason: "go-back-N is left with 58 %; 10 % takes 80 us for each loss, thirteen round trips, " +
			"which is the NIC's doing",
		Checks: []Check{
			{Metric: share, Runs: []string{fabric(plain, 0.01)}, Paper: 0.10, Model: models.GoBackN(0.01,
				fabricProduct), Bound: within(0.58, 0.03)},
			scaled("at 100 Mb/s, 6 ms", share, models.GoBackN(0.01, fabricProduct), within(0.58, 0.05),
				slowFabric(plain, 0.01)),
		}},
	{ID: "PT-FS-04", Source: huang + "V-B", Class: Virtual,
		Claim: "the CX6-Dx falls noticeably above 0.1 %",
		Checks: []Check{
			{Name: "go-back-N at 0.1 %", Metric: share, Runs: []string{fabric(plain, 0.001)},
				Model: models.GoBackN(0.001, fabricProduct), Bound: within(0.93, 0.02)},
			scaled("at 100 Mb/s, 6 ms", share, models.GoBackN(0.001, fabricProduct), within(0.93, 0.03),
				slowFabric(plain, 0.001)),
		}},
	{ID: "PT-FS-05", Source: huang + "abstract, V-C2", Class: Virtual,
		Claim: "5000 QPs, 1 %: FaSR keeps 92 %, 12.6 times the CX6-Dx, 16 % above SRNIC, 31 % above IRN",
		Reason: "the recovery is checked; what CX6-Dx and IRN lose to caches of connection state is the NIC's and " +
			"not in the protocol. 5000 queues of two messages take 3.5 ms to get through the line; the timer is " +
			"above three times that, or it would fire on packets that wait",
		Checks: []Check{
			{Name: "FaSR", Metric: share, Runs: []string{shared(withFaSR, 0.01, 5000)}, Paper: 0.92,
				Bound: atLeast(0.92)},
			{Name: "SRNIC", Metric: share, Runs: []string{shared(withSRNIC, 0.01, 5000)}, Paper: 0.75,
				Model: 1 - models.Stall(0.01, 2, fabricPacket, query), Bound: within(0.76, 0.02)},
		}},
}

// fasrState is the state of connections, counted, and what waiting for it costs.
var fasrState = []Target{
	{ID: "PT-FS-06", Source: huang + "V-C1, Fig. 7b", Class: Analytic,
		Claim: "1.4 MB of connection state: IRN slips above 2 K QPs, FaSR and SRNIC do not up to 5 K",
		Checks: []Check{
			{Name: "IRN", Metric: number("QPs", ""), Account: "irn QPs", Model: 2379, Bound: within(2379, 0.5)},
			{Name: "SRNIC", Metric: number("QPs", ""), Account: "srnic QPs", Model: 5223, Bound: within(5223, 0.5)},
			{Name: "FaSR", Metric: number("QPs", ""), Account: "fasr QPs", Model: 5441, Bound: within(5441, 0.5)},
		}},
	{ID: "PT-FS-07", Source: huang + "II-A, Fig. 2", Class: Analytic,
		Claim: "queries of 1.4 us, 1 %, 400 Gb/s: SRNIC loses as much as 40 %",
		Checks: []Check{{Metric: number("loss of throughput", ""), Paper: 0.40, Model: models.Stall(0.01, 1,
			(400 * g1).Time(packet), query), Bound: within(0.388, 0.01)}}},
	{ID: "PT-FS-08", Source: huang + "II-A", Class: Analytic, Claim: "five bitmaps of 500 bits for 5 K QPs: 1.5 MB",
		Checks: []Check{{Metric: number("memory", "MB"), Account: "irn bitmaps", Paper: 1.5, Model: 1.5625,
			Bound: within(1.5625, 1e-6)}}},
	{ID: "PT-FS-09", Source: huang + "III-D", Class: Analytic, Claim: "product 500, 2 %: a shared pool of 0.92 KB",
		Checks: []Check{{Metric: number("memory", "B"), Account: "fasr pool", Paper: 920, Model: 917.5,
			Bound: within(917.5, 1e-6)}}},
	{ID: "PT-FS-10", Source: huang + "V-D2, Fig. 8b", Class: Analytic,
		Claim: "above 145 QPs the pool of 1600 B is the smallest",
		Checks: []Check{{Metric: number("QPs", ""), Account: "fasr crossover", Paper: 145, Model: 1600.0 / 11,
			Bound: Bound{145, 146}}}},
	{ID: "PT-FS-11", Source: huang + "III-B, Fig. 3a", Class: Analytic,
		Claim: "200 Gb/s, product 500, 1 %: exactly one is lost in more than 70 % of the cases as QPs increase",
		Checks: []Check{
			{Name: "one QP", Metric: number("probability", ""), Model: models.ExactlyOne(5), Bound: within(0.03, 0.05)},
			{Name: "8 QPs", Metric: number("probability", ""), Paper: 0.7, Model: models.ExactlyOne(5.0 / 8),
				Bound: within(0.72, 0.05)},
			{Name: "16 QPs", Metric: number("probability", ""), Model: models.ExactlyOne(5.0 / 16),
				Bound: within(0.85, 0.05)},
		}},
}

// fasrRest is message rates, headers, the shared pool in a run, and hardware.
var fasrRest = []Target{
	{ID: "PT-FS-12", Source: huang + "Fig. 9b", Class: Hardware, Claim: "shares of the fast and the slow path",
		Reason: "a figure without numbers"},
	{ID: "PT-FS-13", Source: huang + "V-D1, Fig. 8a", Class: Hardware, Claim: "6.2 million operations per second",
		Reason: "of an FPGA and a host"},
	{ID: "PT-FS-14", Source: huang + "V-D1", Class: Virtual, Claim: "messages above 4 KB: nearly the maximum",
		Checks: []Check{{Metric: share, Runs: []string{fabric(withFaSR, 0)}, Model: 1, Bound: Bound{0.98, 1.001}}}},
	{ID: "PT-FS-15", Source: huang + "V-D2, Fig. 9", Class: Hardware,
		Claim: "SR actions of 10 ns, 181 million packets per second", Reason: "a number of an FPGA"},
	{ID: "PT-FS-16", Source: huang + "IV-D", Class: Analytic,
		Claim: "the headers cost 0.58 % of goodput with SEND and 1.3 % with WRITE",
		Reason: "the paper's two numbers have two denominators, and count headers of 6 and 14 bytes; " +
			"ours are whole words",
		Checks: []Check{
			{Name: "SEND", Metric: number("share", ""), Account: "fasr send header", Paper: 0.0058,
				Bound: within(0.0072, 0.0003)},
			{Name: "WRITE", Metric: number("share", ""), Account: "fasr write header", Paper: 0.013,
				Bound: within(0.0072, 0.0003)},
		}},
	{ID: "PT-FS-17", Source: huang + "V-D3, Fig. 10", Class: Virtual,
		Claim: "RTT 40 us, 1 %: a bitmap pool of 270 B does not overflow, and less of it is used as QPs increase",
		Reason: "270 B are 120 blocks of 10 bits with their pointers. The 70 blocks of III-D are for windows that " +
			"share the product; two QPs with a window of 500 each can be behind by 51 blocks each, and are",
		Checks: []Check{
			{Name: "2 QPs", Metric: variable("pool_blocks_high", "blocks"), Runs: []string{pool(2, 500, 0.01)},
				Bound: atMost(pool270)},
			{Name: "2 QPs at the 2 % that a pool is sized for", Metric: variable("pool_blocks_high", "blocks"),
				Runs: []string{pool(2, 500, 0.02)}, Bound: atMost(pool270)},
			{Name: "2 QPs that share the window at 2 %", Metric: variable("pool_blocks_high", "blocks"),
				Runs: []string{pool(2, 250, 0.02)}, Bound: atMost(70)},
			{Name: "8 over 2 QPs", Metric: variables("pool_blocks_high"), Runs: []string{pool(8, 500, 0.01),
				pool(2, 500, 0.01)}, Bound: Bound{0, 1}},
			{Name: "32 over 8 QPs", Metric: variables("pool_blocks_high"), Runs: []string{pool(32, 500, 0.01),
				pool(8, 500, 0.01)}, Bound: Bound{0, 1}},
		}},
	{ID: "PT-FS-18", Source: huang + "IV-E", Class: Hardware, Claim: "less than 0.7 % of the FPGA above go-back-N",
		Reason: "a number of an FPGA"},
	{ID: "PT-FS-19", Source: huang + "I", Class: Undefined, Claim: "10 bit of SR state per connection on average",
		Reason: "the paper does not say over which connections"},
	{ID: "PT-FS-20", Source: huang + "V-A", Class: Analytic,
		Claim:  "3.2 MB of SRAM: 1.2 for translation, 0.6 for receives, 1.4 for connections",
		Reason: "a parameter of the set-up, which PT-FS-06 uses"},
}
