package modeltest

import (
	"github.com/rdma-gauntlet/gauntlet/perf/stats"
	"github.com/rdma-gauntlet/gauntlet/perf/suite"
)

// Perf returns new claims with a number of every kind: one that holds and agrees with the paper, one that holds and
// does not agree, one outside its bound, one that needs more seeds, one without a run, and one that is only reported.
func Perf() *suite.Result {
	m := &suite.Result{
		Format: suite.FormatVersion, Version: "0.1.0", Commit: "0123456789abcdef", Started: "2026-03-01T12:00:00Z",
		Wall:    80,
		Command: "gauntlet perf --class A,V,H", Bench: "sim", Confidence: 0.95, Runs: 24,
		Emulated: "netns", RealRuns: 6,
		Claims: []suite.Claim{
			{ID: "PT-XX-01", Source: "A paper, Fig. 1", Claim: "16 connections: 1.28 and 1.50 times", Class: "V",
				Measured: []suite.Measured{
					number("40 ms", suite.Holds, suite.Reproduced, 1.28, 1.24, 1.25, 0.01, 1.2, 1.3),
					number("80 ms", suite.Holds, suite.Reproduced, 1.5, 1.52, 1.51, 0.01, 1.46, 1.58),
					emulated("100 Mb/s", suite.Holds, 1.24, 1.25, 1.23, 1.2, 1.3),
					cut("10 Gb/s", 1.24, 1.25, 1.1, 1.09, 1.2, 1.3)}},
			{ID: "PT-XX-02", Source: "A paper, Fig. 2", Claim: "one connection: 11.55 times", Class: "V",
				Reason: "its timer fires on every packet", Measured: []suite.Measured{number("", suite.Holds,
					suite.NotReproduced, 11.55, 1.85, 1.84, 0.02, 1.7, 2)}},
			{ID: "PT-XX-03", Source: "A paper, Fig. 3", Claim: "two numbers", Class: "V",
				Measured: []suite.Measured{
					number("first", suite.Broken, "", 0, 0, 0.5, 0.01, 0.9, 1),
					number("second", suite.Open, "", 0, 0, 0.89, 0.02, 0.9, 1),
					emulated("third", suite.Broken, 0.95, 0.95, 0.6, 0.9, 1)}},
			{ID: "PT-XX-04", Source: "A paper, Table I", Claim: "a size", Class: "A",
				Measured: []suite.Measured{{Metric: "memory", Unit: "B", Class: "A", Status: suite.Unknown,
					Trouble: "no account \"x\""}, untold("10 Gb/s", 0.95, "gbn, seed 1: INVALID: late")}},
			{ID: "PT-XX-05", Source: "A paper, III", Claim: "181 million packets per second", Class: "H",
				Reason: "of an FPGA"},
			{ID: "PT-XX-06", Source: "A paper, IV", Claim: "35 times", Class: "H", Reason: "of a host",
				Measured: []suite.Measured{number("", suite.Reported, suite.NotReproduced, 35, 0, 157, 0, 35, 40)}},
		},
	}
	for i := range m.Claims {
		m.Claims[i].Settle()
	}
	m.Settle()
	return m
}

// number returns a measured ratio; a paper or model of 0 is left out.
func number(name, status, finding string, paper, expected, value, half, low, high float64) suite.Measured {
	out := suite.Measured{Name: name, Class: "V", Metric: "goodput ratio", Status: status, Finding: finding, Low: &low,
		High: &high, Random: true,
		Seeds: []uint64{1, 2, 3, 4, 5, 6}, Values: []float64{value - half, value + half, value, value,
			value - half, value + half},
		Estimate: &stats.Estimate{Value: value, Low: value - half, High: value + half, Confidence: 0.95, N: 6}}
	if paper != 0 {
		out.Paper = &paper
	}
	if expected != 0 {
		out.Model = &expected
	}
	return out
}

// untold returns a measured ratio whose runs with real packets gave no number.
func untold(name string, value float64, why string) suite.Measured {
	out := number(name, suite.Unknown, "", 0, value, value, 0.01, 0.9, 1)
	out.Trouble, out.RealTrouble = "netns: "+why, why
	return out
}

// cut returns a measured ratio with the value of shorter runs, in virtual time and with real packets.
func cut(name string, expected, value, short, real, low, high float64) suite.Measured {
	out := emulated(name, suite.Holds, expected, value, real, low, high)
	gap := real/short - 1
	out.Class, out.Gap = "V", &stats.Estimate{Value: gap, Low: gap, High: gap, Confidence: 0.95, N: 1}
	out.Cut = &suite.Cut{Length: "1s", Values: []float64{short},
		Estimate: &stats.Estimate{Value: short, Low: short, High: short, Confidence: 0.95, N: 1}}
	return out
}

// emulated returns a measured ratio with the value from real packets.
func emulated(name, status string, expected, value, real, low, high float64) suite.Measured {
	out := number(name, status, "", 0, expected, value, 0.01, low, high)
	gap := real/value - 1
	out.Class, out.Real = "E", &stats.Estimate{Value: real, Low: real - 0.02, High: real + 0.02, Confidence: 0.95, N: 6}
	out.Gap = &stats.Estimate{Value: gap, Low: gap - 0.005, High: gap + 0.005, Confidence: 0.95, N: 6}
	out.RealMade = []suite.Made{{Dilation: 64, Wall: 80, Rate: 17_700}, {Dilation: 128, Wall: 150, Rate: 8850}}
	return out
}
