package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/conformance/scenarios"
	"github.com/rdma-gauntlet/gauntlet/conformance/suite"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// TestDeviceTakesPart: there are scenarios for soft-RoCE in both roles, and together they name most rules of the families that
// it can be judged by from outside.
func TestDeviceTakesPart(t *testing.T) {
	f := conformFlags{dut: "rxe"}
	cfg := suite.Config{Features: (&conformFlags{}).declarations(nil)}
	var err error
	cfg.Implementations, err = f.roles()
	must(t, err)
	f.judgeDevice(&cfg)
	named := map[string]bool{}
	for _, role := range cfg.Implementations {
		n := 0
		for _, sc := range scenarios.All() {
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
		if !open[r.ID] && named[r.ID] && slices.Contains(r.Features, "irn") {
			t.Errorf("%s of family %s asks for a scheme that the device has not", r.ID, family)
		}
	}
	for _, id := range []string{"GBN-NAK-001", "GBN-RTX-001", "RC-READ-002", "RC-TMO-001", "NEG-ICRC-001", "NEG-PSN-001"} {
		if !named[id] {
			t.Errorf("no scenario that fits names %s", id)
		}
	}
}

// TestDeviceSide: as the requester it is where the work is, as the responder at the other end.
func TestDeviceSide(t *testing.T) {
	for _, sc := range scenarios.All() {
		if sc.Name != "loss-middle" {
			continue
		}
		s, err := sc.Spec()
		must(t, err)
		if got := deviceSide(asRequester, s); got != trace.A {
			t.Errorf("requester at %s", got)
		}
		if got := deviceSide(asResponder, s); got != trace.B {
			t.Errorf("responder at %s", got)
		}
	}
}
