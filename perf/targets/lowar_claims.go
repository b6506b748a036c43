package targets

import "github.com/rdma-gauntlet/gauntlet/perf/models"

// lowarGoodput are the claims on the goodput of go-back-N and LoWAR under independent losses.
var lowarGoodput = []Target{
	{ID: "PT-LW-01", Source: lowarTestbed + "II-C, Fig. 3a", Class: Virtual,
		Claim: "CX-5, one connection, 10 Gb/s, 40 ms, no loss: 9.21 Gb/s",
		Checks: []Check{{Metric: goodput, Runs: []string{wan(plain, 40*ms, 0, 1)}, Paper: 9.21, Model: wanCeiling,
			Bound: Bound{9.19, 9.26}}}},
	{ID: "PT-LW-02", Source: lowarTestbed + "II-C, Fig. 3a", Class: Virtual,
		Claim: "the same with a loss of 1e-5: 2.92 Gb/s",
		Reason: "the paper's is below what go-back-N needs: 2.92 takes 4.8 round trips for each loss, so the NIC " +
			"does something besides (adaptive retransmission, a slow restart, DCQCN); the engine is not tuned to it",
		Checks: []Check{
			{Metric: goodput, Runs: []string{wan(plain, 40*ms, 1e-5, 1)}, Paper: 2.92,
				Model: wanCeiling * models.GoBackN(1e-5, wanProduct(40*ms)), Bound: around(6.38, 0.05)},
			scaledGoBackN("go-back-N", 1e-5*wanProduct(40*ms)),
		}},
	{ID: "PT-LW-03", Source: lowarTestbed + "abstract, VI-A, Fig. 9", Class: Virtual,
		Claim: "one connection, 40 ms, 1e-5 to 1e-4: LoWAR(32,1) raises goodput by 2.05 to 5.01 times, " +
			"that is to 3.05 and 6.01",
		Reason: "at 1e-4 the increase is what go-back-N leaves; at 1e-5 the paper's own go-back-N is too slow " +
			"(PT-LW-02), and with a right one the gain is 1.4",
		Checks: lowarGains(40*ms, 3.05, 6.01)},
	{ID: "PT-LW-04", Source: lowarTestbed + "VI-A", Class: Virtual,
		Claim: "the same at 80 ms: 11.55 to 19.07 times the goodput",
		Reason: "no rule of the protocol gives 11.55: at 1e-5 half of the line is left to go-back-N. 80 ms is beyond " +
			"the NIC's timer of 67 ms, which then fires on every packet",
		Checks: lowarGains(80*ms, 11.55, 19.07)},
	{ID: "PT-LW-05", Source: lowarTestbed + "VI-A", Class: Virtual,
		Claim: "16 connections, 1e-4: LoWAR(32,1) has 1.28 times the goodput at 40 ms and 1.50 at 80 ms",
		Checks: []Check{
			{Name: "40 ms", Metric: ratio, Runs: []string{wan(code(32, 1), 40*ms, 1e-4, 16),
				wan(plain, 40*ms, 1e-4, 16)},
				Paper: 1.28, Model: gain(1e-4, 40*ms, 16), Bound: around(1.25, 0.04)},
			{Name: "80 ms", Metric: ratio, Runs: []string{wan(code(32, 1), 80*ms, 1e-4, 16),
				wan(plain, 80*ms, 1e-4, 16)},
				Paper: 1.50, Model: gain(1e-4, 80*ms, 16), Bound: around(1.52, 0.04)},
		}},
	{ID: "PT-LW-06", Source: lowarTestbed + "VI-A", Class: Virtual,
		Claim:  "16 connections: LoWAR(32,1) keeps 87.29 % of its goodput at 1e-3",
		Reason: "the code leaves less to go-back-N than the paper measured, so its number is a lower bound",
		Checks: []Check{
			{Name: "40 ms", Metric: ratio, Runs: []string{wan(code(32, 1), 40*ms, 1e-3, 16),
				wan(code(32, 1), 40*ms, 0, 1)},
				Paper: 0.8729, Model: coded(32, 1).Kept(1e-3, wanProduct(40*ms), 16), Bound: Bound{0.937, 0.977}},
			{Name: "80 ms", Metric: ratio, Runs: []string{wan(code(32, 1), 80*ms, 1e-3, 16),
				wan(code(32, 1), 80*ms, 0, 1)},
				Paper: 0.8729, Model: coded(32, 1).Kept(1e-3, wanProduct(80*ms), 16), Bound: Bound{0.895, 0.935}},
		}},
	{ID: "PT-LW-07", Source: lowarTestbed + "Fig. 9", Class: Virtual,
		Claim: "from 1e-3 on (8,1) is above (32,1), at the cost of a lower ceiling",
		Checks: []Check{
			{Name: "(8,1) over (32,1) at 1e-3, 40 ms", Metric: ratio, Runs: []string{wan(code(8, 1), 40*ms, 1e-3, 1),
				wan(code(32, 1), 40*ms, 1e-3, 1)},
				Model: coded(8, 1).Efficiency(1e-3, wanProduct(40*ms)) / coded(32, 1).Efficiency(1e-3,
					wanProduct(40*ms)), Bound: atLeast(1.1)},
			{Name: "ceiling of (8,1)", Metric: goodput, Runs: []string{wan(code(8, 1), 40*ms, 0, 1)},
				Model: wanCeiling * coded(8, 1).Share(), Bound: around(8.21, 0.01)},
			{Name: "ceiling of (32,1)", Metric: goodput, Runs: []string{wan(code(32, 1), 40*ms, 0, 1)},
				Model: wanCeiling * coded(32, 1).Share(), Bound: around(8.97, 0.01)},
		}},
	{ID: "PT-LW-08", Source: lowarTestbed + "VI-A", Class: Virtual,
		Claim: "one connection: LoWAR keeps its goodput until the loss exceeds 1e-4",
		Checks: []Check{
			{Name: "1e-4", Metric: ratio, Runs: []string{wan(code(32, 1), 40*ms, 1e-4, 1),
				wan(code(32, 1), 40*ms, 0, 1)},
				Model: coded(32, 1).Kept(1e-4, wanProduct(40*ms), 1), Bound: atLeast(0.98)},
			{Name: "1e-3", Metric: ratio, Runs: []string{wan(code(32, 1), 40*ms, 1e-3, 1),
				wan(code(32, 1), 40*ms, 0, 1)},
				Model: coded(32, 1).Kept(1e-3, wanProduct(40*ms), 1), Bound: atMost(0.65)},
		}},
	{ID: "PT-LW-09", Source: lowarTestbed + "II-C", Class: Virtual,
		Claim: "CX-5, 40 ms: nearly nothing above 1e-3",
		Checks: []Check{{Metric: goodput, Runs: []string{wan(plain, 40*ms, 1e-3, 1)},
			Model: wanCeiling * models.GoBackN(1e-3, wanProduct(40*ms)), Bound: atMost(0.25)}}},
	{ID: "PT-LW-10", Source: lowarTestbed + "II-C", Class: Virtual,
		Claim: "in a LAN, throughput falls noticeably above 0.5 % only",
		Checks: []Check{{Name: "0.5 %, RTT 10 us", Metric: share, Model: models.GoBackN(0.005, wanProduct(10*us)),
			Bound: atLeast(0.9),
			Runs: []string{scene(plain, "link rate=10G delay=5us "+deep, lossy("", 0.005), "qp qd=8 rto=400us",
				"load write msg=64KiB", "run for=1s")}}}},
	{ID: "PT-LW-11", Source: lowarTestbed + "II-C", Class: Hardware,
		Claim: "no gain from 16 to 32 connections",
		Reason: "the model has one, and so has the engine: each of 32 loses half as much per event. The NIC's limit " +
			"is not in the protocol",
		Checks: []Check{{Name: "32 over 16 connections, 1e-4, 40 ms", Metric: ratio, Paper: 1, Bound: Bound{0.98, 1.02},
			Model: models.GoBackN(1e-4, wanProduct(40*ms)/32) / models.GoBackN(1e-4, wanProduct(40*ms)/16),
			Runs:  []string{wan(plain, 40*ms, 1e-4, 32), wan(plain, 40*ms, 1e-4, 16)}}}},
}

// lowarTimes are the claims on the completion times of messages of 1 MB.
var lowarTimes = []Target{
	{ID: "PT-LW-12", Source: lowarTestbed + "abstract, VI-A, Fig. 10a", Class: Virtual,
		Claim: "1 MB, 40 ms: the mean FCT of the CX-5 is 12 % above LoWAR's at 1e-4",
		Reason: "12 % is 1.2 round trips for each loss, go-back-N takes one; the 3.5 % at 1e-5 would take 3.5, " +
			"which no rule explains",
		Checks: []Check{
			{Name: "1e-4", Metric: increase, Runs: []string{megabytes(plain, 1e-4, 1500),
				megabytes(code(32, 1), 1e-4, 500)},
				Paper: 0.12, Model: slower(1e-4), Bound: within(0.10, 0.02)},
			{Name: "1e-5", Class: Hardware, Metric: increase, Runs: []string{megabytes(plain, 1e-5, 1500),
				megabytes(code(32, 1), 1e-5, 200)},
				Paper: 0.036, Model: slower(1e-5), Bound: within(0.01, 0.005)},
		}},
	{ID: "PT-LW-13", Source: lowarTestbed + "VI-A, Fig. 10a", Class: Virtual,
		Claim:  "the same at 5e-4: 97 % above",
		Reason: "97 % is 1.94 round trips for each loss where go-back-N takes one",
		Checks: []Check{{Metric: increase, Runs: []string{megabytes(plain, 5e-4, 1500),
			megabytes(code(32, 1), 5e-4, 500)},
			Paper: 0.97, Model: slower(5e-4), Bound: within(0.50, 0.05)}}},
	{ID: "PT-LW-14", Source: lowarTestbed + "Fig. 10b", Class: Virtual,
		Claim: "1 MB: the CX-5 has a tail at the 99th percentile wherever there is loss, from 1e-5 on",
		Checks: []Check{
			{Name: "messages that meet a loss at 1e-5", Class: Analytic, Metric: number("probability", ""),
				Model: models.AnyLost(1024, 1e-5), Bound: atLeast(0.01)},
			{Name: "p99 at 2e-5", Metric: tail, Runs: []string{megabytes(plain, 2e-5, 2000)}, Model: 2,
				Bound: atLeast(1.9)},
			{Name: "p99 at 1e-4", Metric: tail, Runs: []string{megabytes(plain, 1e-4, 1500)}, Model: 2,
				Bound: atLeast(1.9)},
		}},
	{ID: "PT-LW-15", Source: lowarTestbed + "Fig. 10b", Class: Virtual,
		Claim: "1 MB: LoWAR has a tail only above 1e-3",
		Checks: []Check{
			{Name: "p99 at 5e-4", Metric: tail, Runs: []string{megabytes(code(32, 1), 5e-4, 500)}, Model: 1,
				Bound: atMost(1.1)},
			{Name: "p99 at 2e-3", Metric: tail, Runs: []string{megabytes(code(32, 1), 2e-3, 500)}, Model: 2,
				Bound: atLeast(1.9)},
		}},
}

// lowarHarder are the claims on bursts of loss, and on messages too small to fill the line.
var lowarHarder = []Target{
	{ID: "PT-LW-16", Source: lowarTestbed + "VI-A, Fig. 11", Class: Virtual,
		Claim: "LoWAR(64,8), bursts entered with 1e-4: about 8 Gb/s until they are longer than 8, " +
			"and resistance beyond",
		Reason: "holds for bursts of a fixed length, of which any 8 slots hit 8 different units; a geometric length " +
			"mixes longer ones in",
		Checks: burstChecks()},
	{ID: "PT-LW-17", Source: lowarTestbed + "VI-A, Fig. 12", Class: Virtual,
		Claim:  "QD 128, 40 ms, 1e-3, small messages: LoWAR is as without loss, the CX-5 is below",
		Reason: "the window leaves as a burst once per round trip, so a loss costs what is behind it in the burst",
		Checks: smallChecks()},
}

// lowarCoding are the claims on the cost of coding where the round trip is short.
var lowarCoding = []Target{
	{ID: "PT-LW-18", Source: lowarTestbed + "VI-B, Fig. 13a", Class: Virtual,
		Claim: "LAN, 1 MB without loss: the extra latency is that of sending the repair packets",
		Checks: []Check{
			{Name: "(32,1)", Metric: extra, Runs: []string{lan(code(32, 1), ""), lan(plain, "")}, Model: repairTime(31),
				Bound: around(repairTime(31), 0.05)},
			{Name: "(8,1)", Metric: extra, Runs: []string{lan(code(8, 1), ""), lan(plain, "")}, Model: repairTime(127),
				Bound: around(repairTime(127), 0.05)},
		}},
	{ID: "PT-LW-19", Source: lowarTestbed + "VI-B, Fig. 13b", Class: Virtual,
		Claim: "a loss delays the message by a time proportional to the block",
		Reason: "an upper bound: draining takes no virtual time, so a loss in the last block waits " +
			"for its repair alone",
		Checks: []Check{
			{Name: "(32,1), at most a block", Metric: extra, Runs: []string{lan(code(32, 1), lastBlock(32, 1)),
				lan(code(32, 1), "")}, Model: blockTime(32, 1), Bound: Bound{0.001, 1.1 * blockTime(32, 1)}},
			{Name: "(128,16), at most a block", Metric: extra, Runs: []string{lan(code(128, 16), lastBlock(128, 1)),
				lan(code(128, 16), "")},
				Model: blockTime(128, 16), Bound: Bound{0.001, 1.1 * blockTime(128, 16)}},
		}},
	{ID: "PT-LW-20", Source: lowarTestbed + "VI-B, Fig. 13c", Class: Hardware,
		Claim: "(128,16): one loss and a burst of 16 in a block delay it alike",
		Reason: "the paper's time is that of draining the reordering buffer in hardware; here draining is free and a " +
			"burst waits for the last of 16 repair packets where one loss waits for the first",
		Checks: []Check{{Metric: extraRatio, Paper: 1, Bound: around(1, 0.15),
			Runs: []string{lan(code(128, 16), lastBlock(128, 16)), lan(code(128, 16), lastBlock(128, 1)),
				lan(code(128, 16), "")}}}},
}

// lowarResources are the claims on hardware and software, and claims cited from other work.
var lowarResources = []Target{
	{ID: "PT-LW-21", Source: lowarTestbed + "VI-B, Fig. 13d", Class: Hardware, Claim: "CPU utilisation",
		Reason: "a figure without numbers, of other software"},
	{ID: "PT-LW-22", Source: lowarTestbed + "Table I", Class: Analytic,
		Claim: "512 QPs, 1024 units, 2048 packets of reordering: 1.1 MB for encoding, 1.1 for " +
			"decoding, 2.4 for reordering",
		Checks: []Check{
			{Name: "encoding", Metric: number("memory", "MB"), Account: "lowar encoding", Paper: 1.1,
				Bound: within(1.11, 0.02)},
			{Name: "decoding", Metric: number("memory", "MB"), Account: "lowar decoding", Paper: 1.1,
				Bound: within(1.11, 0.02)},
			{Name: "reordering", Metric: number("memory", "MB"), Account: "lowar reordering", Paper: 2.4,
				Bound: Bound{2.1, 2.4}},
		}},
	{ID: "PT-LW-23", Source: lowarTestbed + "Table I", Class: Hardware, Claim: "21995 LUTs, 7302 registers",
		Reason: "a number of an FPGA"},
	{ID: "PT-LW-24", Source: lowarTestbed + "II-B", Class: Hardware,
		Claim: "RDMA against TCP over 120 ms, GridFTP 20 % faster", Reason: "cited from other work"},
}
