// Package modeltest holds a small result with every part of a report: every status, findings with and without a ladder,
// certificates within and outside their bounds. Its numbers are of no real run.
package modeltest

import (
	"time"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/certify"
	"github.com/rdma-gauntlet/gauntlet/perf/metrics"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

const ms = vtime.Time(vtime.Millisecond)

// Result returns a new copy, which the caller may change.
func Result() *model.Result {
	return &model.Result{
		Format: model.FormatVersion, Version: "0.1.0", Commit: "0123456789abcdef", Started: "2026-03-01T12:00:00Z",
		Wall:    4.25,
		Command: "gauntlet run --impl gbn --bench netns --rate 100M --rtt 20ms --loss 1e-3 --count 200 --seed 7",
		Bench:   "netns", Impl: [2]string{"gbn", "gbn"}, Spec: "seed 7\nimpl gbn gbn\nlink A>B rate=100M delay=10ms " +
			"queue=1000\nloss A>B random p=0.001\n",
		SpecHash: "212eaf2a68a064cfeea4636f5e1b939c503d6d283194a172d911706e4a071832", Seed: 7, Folder: "runs/example",
		Report:  "runs/example/report.html",
		Summary: summary(), Status: rule.Fail.String(), Verdicts: verdicts(), Certificates: certificates(),
		State:       certify.State(certificates()),
		Warnings:    []string{"queue=1000: below twice the bandwidth-delay product of 226 packets per connection"},
		Notes:       []string{"link: the user-space relay, because this kernel has no sch_netem"},
		Environment: []model.Fact{{Name: "kernel", Value: "6.18.0"}, {Name: "clock", Value: "monotonic"}},
		Timeline: metrics.Timeline{Start: ms, Step: vtime.Duration(100 * ms), Bytes: []int64{900_000, 1_050_000,
			640_000, 1_040_000, 310_000}},
		Sequences: []metrics.Sequence{{Conn: 0, From: "A", Marks: marks()}},
		Ladders:   []model.Ladder{{Rule: "RC-NAK-002", Finding: 0, Text: ladder}},
		Counters:  []model.Fact{{Name: "A>B dropped: loss", Value: "12"}},
		Processor: model.NewProcessor([2]time.Duration{62 * time.Millisecond, 47 * time.Millisecond}, 3_940_000),
	}
}

func summary() metrics.Summary {
	return metrics.Summary{
		GoodputBps: 66.4e6, ThroughputBps: 83.1e6, Utilisation: 0.664, ElapsedNs: 475_000_000, Messages: 60,
		PayloadBytes: 3_940_000,
		Packets:      4911, DataPackets: 4850, Retransmitted: 1003, Spurious: 991, Lost: 12, Acknowledges: 49,
		NAKs: 11, Timeouts: 1,
		RetransmitByte: 1_027_072,
		Work: metrics.Work{Tally: metrics.Tally{Ordered: 200, Posted: 188, Done: 60,
			Failed: []metrics.Failure{{Status: "RETRY_EXC_ERR", Count: 1}}, Flushed: 127,
			Known: metrics.ByCompletions}},
		RecoveryNs: metrics.Spread{Count: 12, Mean: 30_000_000, Min: 20_100_000, P50: 21_000_000, P95: 90_000_000,
			P99: 90_000_000, Max: 90_000_000},
		FCT: metrics.Spread{Count: 60, Mean: 43_000_000, Min: 25_400_000, P50: 41_200_000, P95: 88_000_000,
			P99: 131_000_000, Max: 131_000_000},
	}
}

const ladder = `     sent      recv  A                                                  B
    5.000    15.000  |-- WRITE_MIDDLE psn=+2 len=1024 ----------------->|
   15.100    25.100  |<----------------- NAK psn=+1 msn=0 PSN_SEQ_ERR --|
   15.200    25.200  |<----------------- NAK psn=+1 msn=0 PSN_SEQ_ERR --|  <== RC-NAK-002
`

func verdict(id string, level rule.Level, status rule.Status, title, reason string, met, total int) rule.Verdict {
	return rule.Verdict{Rule: id, Level: level, Title: title, Source: rule.Source{Ref: "IBTA 9.7.5.2",
		Requirement: "A paraphrase of " + id},
		Status: status, Required: level == rule.Must || level == rule.MustNot, Reason: reason, Met: met, Total: total}
}

func verdicts() []rule.Verdict {
	nak := verdict("RC-NAK-002", rule.Must, rule.Fail, "A gap is NAKed once", "", 11, 3)
	nak.Findings = []rule.Finding{
		{Rule: nak.Rule, Blame: rule.Responder, Conn: 0, At: 15 * ms, Record: 4, Packet: "B>A NAK psn=+1 PSN_SEQ_ERR",
			Text: "second NAK for psn=+1, the first was 100ns before"},
		{Rule: nak.Rule, Blame: rule.Responder, Conn: 0, At: 25 * ms, Record: rule.NoRecord,
			Text: "third NAK for psn=+1"},
	}
	nak.Explain = rule.Explain(nak.Rule)
	ack := verdict("RC-ACK-004", rule.Should, rule.Fail, "ACKs are coalesced", "", 49, 1)
	ack.Findings = []rule.Finding{{Rule: ack.Rule, Blame: rule.Responder, Conn: 0, At: 30 * ms, Record: 9,
		Packet: "B>A ACK psn=+9", Text: "an ACK for every packet"}}
	ack.Explain = rule.Explain(ack.Rule)
	return []rule.Verdict{
		verdict("WIRE-BTH-001", rule.Must, rule.Pass, "TVer is 0", "", 4911, 0),
		verdict("RC-ACK-001", rule.Must, rule.Pass, "An ACK names a PSN that was received", "", 49, 0),
		nak, ack,
		verdict("RC-RNR-001", rule.Must, rule.Inconclusive, "A SEND without a receive draws an RNR NAK",
			"stimulus not seen: a SEND without a posted receive", 0, 0),
		verdict("RC-TMO-002", rule.Must, rule.XFail, "Timeouts back off",
			"waived by ops until 2026-06-01: known", 1, 1),
		verdict("RC-TMO-003", rule.Must, rule.XPass, "The timer restarts",
			"waived by ops until 2026-06-01, but it holds", 1, 0),
		verdict("RC-TMO-001", rule.Must, rule.Invalid, "The timer expires in time",
			"link certificate after the run: B>A delay p99 is 14ms", 2, 1),
		verdict("NEG-PSN-001", rule.MustNot, rule.Error, "A far PSN is not received",
			"the check panicked on connection 0: index out of range", 0, 0),
		verdict("WIRE-UD-001", rule.Must, rule.NotApplicable, "UD packets carry a DETH", "needs feature ud", 0, 0),
	}
}

func certificates() []certify.Certificate {
	return []certify.Certificate{
		{When: "before", Valid: true, Items: []certify.Item{
			{Name: "A>B delay p50", Want: "10ms", Got: "10.02ms",
				Bound: "within 200us: scheduling of the relay", OK: true},
			{Name: "A>B loss", Want: "0.001", Got: "0.00104",
				Bound: "0.00072 to 0.00128: three standard errors", OK: true},
		}},
		{When: "after", Valid: false, Reason: "B>A delay p99 was 14ms, and at most 11ms will do", Items: []certify.Item{
			{Name: "B>A delay p99", Want: "10ms", Got: "14ms", Bound: "at most 11ms", OK: false},
		}},
	}
}

// marks draw a run of 400 packets with two losses, each repaired by going back.
func marks() []metrics.Mark {
	var out []metrics.Mark
	add := func(at vtime.Time, offset int64, kind metrics.MarkKind) {
		out = append(out, metrics.Mark{At: at, Offset: offset, Kind: kind})
	}
	at, sent := ms, int64(0)
	for offset := int64(0); offset < 400; offset++ {
		at += ms
		switch {
		case at == 101*ms, at == 251*ms:
			add(at, offset, metrics.LostMark)
			add(at+20*ms, offset, metrics.NakMark)
		case offset < sent:
			add(at, offset, metrics.SentAgain)
		default:
			add(at, offset, metrics.SentFirst)
		}
		sent = max(sent, offset+1)
		if at == 121*ms || at == 271*ms {
			offset -= 21
		} else if offset%16 == 15 && offset >= 20 {
			add(at, offset-20, metrics.AckMark)
		}
	}
	return out
}
