package conform

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/device"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/conformance/scenarios"
	"github.com/rdma-gauntlet/gauntlet/conformance/suite"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestDeviceTakesPart: soft-RoCE has scenarios in both roles, and together they name most rules of the families that
// can judge it from outside.
func TestDeviceTakesPart(t *testing.T) {
	s, err := New(Options{Device: "rxe", Bench: "sim"})
	must(t, err)
	if s.Bench != "netns" {
		t.Errorf("a device on bench %s", s.Bench)
	}
	cfg := suite.Config{Implementations: s.Impls, Features: s.Declarations(), Scenarios: scenarios.All()}
	judgeDevice(&cfg)
	named := map[string]bool{}
	for _, role := range cfg.Implementations {
		n := 0
		for _, sc := range cfg.Scenarios {
			if cfg.Fits(role, &sc) {
				n++
				for _, id := range sc.Rules {
					named[id] = true
				}
			}
		}
		if n < 40 {
			t.Errorf("%s: %d scenarios fit, want 40 or more", role, n)
		}
	}
	open := blackBoxRules()
	for _, r := range rules.All() {
		family, _, _ := strings.Cut(r.ID, "-")
		if open[r.ID] == nil && named[r.ID] && slices.Contains(r.Features, "irn") {
			t.Errorf("%s of family %s asks for a scheme that the device has not", r.ID, family)
		}
	}
	for _, id := range []string{"GBN-NAK-001", "GBN-RTX-001", "RC-READ-002", "RC-TMO-001", "NEG-ICRC-001",
		"NEG-PSN-001", "NEG-LEN-007", "RC-OPC-002"} {
		if !named[id] {
			t.Errorf("no scenario that fits names %s", id)
		}
	}
}

// TestAccount: each rule has a line with the role that it is about, or with the reason why no scenario exercised it.
func TestAccount(t *testing.T) {
	list := append(oneByOne(scenarios.All()), scenarios.Device()...)
	tab := NewTable([]string{device.Responder, device.Requester}, false, nil)
	tab.account = newAccount(list)
	tab.Add(&suite.Outcome{Impl: device.Requester, Scenario: "loss-middle", Verdicts: []suite.Verdict{
		{Rule: "GBN-RTX-001", Status: rule.Pass}, {Rule: "GBN-NAK-001", Status: rule.Pass}}})
	tab.Add(&suite.Outcome{Impl: device.Responder, Scenario: "hostile-psn",
		Verdicts: []suite.Verdict{{Rule: "NEG-PSN-001", Status: rule.XFail}}})
	tab.Add(&suite.Outcome{Impl: device.Responder, Scenario: "timer-silent-peer"})
	var out strings.Builder
	must(t, tab.rows(&out, false))
	for _, want := range []string{
		`GBN-RTX-001 +MUST +- +PASS +1\n`,
		`NEG-PSN-001 +MUST +XFAIL +- +1, broken in hostile-psn\n`,
		// actions of the peer are not the device's
		`GBN-NAK-001 +MUST +INCONCLUSIVE +- +not selected: .*loss-middle`,
		`GBN-DUP-001 +MUST +INCONCLUSIVE +- +did not arise in timer-silent-peer\n`,
		`RC-CQE-004 +MUST +- +INCONCLUSIVE +not selected: device/nak-flushes`,
		`RC-TMO-002 .* not selected: device/silent-peer`,
		`WIRE-UD-001 .* not selected: device/datagrams\n`,
		`RC-RNR-004 .* not selected: rnr-not-for-write`,
		`RC-MEM-001 +MUST +INCONCLUSIVE`,
		`RC-OPC-003 .* not selected: error-not-enabled-qp0`,
		`LOWAR-TRN-002 .* \S`,
		`123 rules can be judged on soft-RoCE: 2 were exercised, 121 were not exercised\n`,
		`ADAPTER +RXE-RESPONDER +RXE-REQUESTER\n(.*\n)*ib_write_bw +2 scenarios, 1 rules +1 scenarios, 1 rules\n`,
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	for line := range strings.Lines(out.String()) {
		if strings.Contains(line, "no scenario is there for") && !strings.HasPrefix(line, "LOWAR-") {
			t.Errorf("a rule that soft-RoCE can be judged by has no scenario: %s", line)
		}
	}
}

// TestDeviceAtBothEnds: a device at both ends is one subject in both roles, and takes part in scenarios that two stock
// tools can do.
func TestDeviceAtBothEnds(t *testing.T) {
	o := Options{Device: "rxe", Peer: "rxe", Bench: "netns"}
	s, err := New(o)
	must(t, err)
	cfg := suite.Config{Implementations: s.Impls, Features: s.Declarations()}
	if len(cfg.Implementations) != 1 {
		t.Fatalf("%q, want one", cfg.Implementations)
	}
	judgeDevice(&cfg)
	n := 0
	for _, sc := range scenarios.All() {
		if cfg.Fits(cfg.Implementations[0], &sc) {
			n++
		}
		if sc.Name == "ops-mirrored" && cfg.Fits(cfg.Implementations[0], &sc) {
			t.Error("two tools that both answer cannot be introduced to each other")
		}
	}
	if n < 30 {
		t.Errorf("%d scenarios fit, want 30 or more", n)
	}
	tab := NewTable([]string{device.Both}, false, nil)
	tab.account = newAccount(append(oneByOne(scenarios.All()), scenarios.Device()...))
	tab.Add(&suite.Outcome{Impl: device.Both, Scenario: "read-many"})
	var out strings.Builder
	must(t, tab.rows(&out, false))
	for _, want := range []string{
		`RC-READ-004 .* did not arise in read-many\n`,
		`RC-ACK-003 .* not selected: loss-ack\n`,
		`RC-ORD-002 .* no tool does work of both sides between two tools`,
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	o.Peer = "irn"
	if _, err := New(o); err == nil || !strings.Contains(err.Error(), "--peer") {
		t.Errorf("%v; want that the peer of a device is refused", err)
	}
}
