package modeltest

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/perf/datasheet"
	"github.com/rdma-gauntlet/gauntlet/reports/passport"
)

// Passport returns a new passport of a device that is not qualified: rules of several statuses in two roles, a verdict
// that its trace does not show, a public waiver and a private one, and all facts about the lab.
func Passport() *passport.Passport {
	low, value := 0.9, 0.95
	return &passport.Passport{
		Made: "2026-03-01T12:00:00Z", Peer: "rnic", Bench: "remote", Qualified: false, Status: "FAIL",
		Validity: "VALID",
		Subject: passport.Subject{Name: "rnic", Kind: passport.Device, Title: "an RNIC", Vendor: "0x15b3",
			Part: "MT_0000000012", Firmware: "16.35.2000", Driver: "mlx5_core",
			Kernel: "6.1.0", Declares: []string{"rc", "gbn"}},
		Profile: passport.Profile{Name: "rc-gbn", Title: "RoCEv2 with go-back-N", Reference: "gbn", SHA256: "ab01"},
		Tool:    passport.Tool{Version: "0.1.0", Commit: "0123456789abcdef0123456789abcdef01234567", Rules: "cd02"},
		Rules: []passport.Rule{
			{ID: "GBN-NAK-001", Level: rule.Must, Role: "responder", Status: "PASS", Required: true, Core: true,
				Judged: 3, Met: 9},
			{ID: "GBN-NAK-001", Level: rule.Must, Role: "requester", Status: "INCONCLUSIVE", Required: true},
			{ID: "GBN-NAK-002", Level: rule.Must, Role: "responder", Status: "FAIL", Required: true, Judged: 3,
				Met: 9, Total: 2},
			{ID: "RC-RNR-001", Level: rule.Must, Role: "responder", Status: "XFAIL", Required: true, Judged: 1,
				Met: 1, Total: 1},
		},
		Runs: []passport.Run{
			{Scenario: "loss-middle", Role: "responder", Folder: "scenarios/rnic-responder/loss-middle", Status: "FAIL",
				Spec: "01", Trace: "02", Certificates: "03",
				Verdicts: map[string][]string{"PASS": {"GBN-NAK-001"}, "FAIL": {"GBN-NAK-002", "RC-RNR-001"}}},
			{Scenario: "loss-tail", Role: "requester", Status: "ERROR"},
		},
		Beyond: []passport.Beyond{{Scenario: "loss-middle", Role: "responder", Rule: "WRK-ACT-001", Said: "PASS",
			Shown: "INCONCLUSIVE"}},
		Targets: []passport.Target{{Claim: "PT-LW-01", Name: "loss-free, goodput", Value: &value, Least: 0.94,
			Most: 0.96, N: 3, Low: &low, Status: "PASS"}, {Claim: "PT-LW-02", Name: "lossy, goodput", Status: "ERROR"}},
		Waivers: []passport.Waiver{{Rule: "RC-RNR-*", Expires: "2027-01-31", Status: "XFAIL", Owner: "everybody",
			Reason: "slow timer"}, {Rule: "RC-PSN-001", Expires: "2027-01-31", Status: "INCONCLUSIVE"}},
		Sheet: []datasheet.Row{{Name: "recovery", Value: "go-back-N, told by NAKs", Seen: 9},
			{Name: "NAK latency", Value: "4 µs, 3 µs to 9 µs", Seen: 9, Times: []int64{4000},
				Spread: &[2]int64{3000, 9000}},
			{Name: "RNR wait", Value: datasheet.Absent}},
		Counters: []passport.Counter{{Name: "hw/out_of_sequence", Value: 12, Low: 13, High: 13, Seen: 4, Wrong: 1},
			{Name: "hw/rcvd_pkts", Value: 5, Low: 5, High: -1, Seen: 4}},
		Lab: &passport.Lab{Command: "gauntlet qualify --testbed lab.txt", Folder: "runs/mine", Subject: "rnic",
			Environment: map[string]string{"processors": "2"}, Reasons: []string{"GBN-NAK-002 FAIL"},
			Findings: []string{"GBN-NAK-002: second NAK"}, Waivers: []string{"RC-PSN-001 for rnic: lab: once"}},
	}
}

// Checked returns a new check of Passport that refutes it.
func Checked() *passport.Checked {
	return &passport.Checked{Passport: Passport(), Key: "SHA256:abc", Signer: "alice@example.com",
		Rules: passport.OtherBuild, Evidence: true, Runs: 1, Whole: 0, Verdicts: 0,
		Doubts: []string{"loss-middle (responder): trace.ndjson of scenarios/rnic-responder/loss-middle was altered"}}
}

// Difference returns a new comparison of Passport with one of a later firmware, where each part differs.
func Difference() *passport.Difference {
	old, later := Passport(), Passport()
	later.Subject.Firmware = "16.36.1000"
	later.Rules[0].Status, later.Rules[2].Status = "FAIL", "PASS"
	later.Counters[0].Wrong = 0
	later.Sheet[1] = datasheet.Row{Name: "NAK latency", Value: "400 µs", Seen: 9, Times: []int64{400_000},
		Spread: &[2]int64{390_000, 410_000}}
	v := 0.5
	later.Targets[0].Value, later.Targets[0].Least, later.Targets[0].Most, later.Targets[0].Status = &v,
		0.4, 0.6, "FAIL"
	return passport.Diff(old, later)
}
