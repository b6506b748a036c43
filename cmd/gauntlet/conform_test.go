package main

import (
	"context"
	"io"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/conform"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/suite"
)

func TestConformExitCodes(t *testing.T) {
	for _, c := range []struct {
		status rule.Status
		want   int
	}{{rule.Pass, 0}, {rule.Inconclusive, exitFailure}, {rule.Fail, exitFailure}, {rule.XPass, exitFailure},
		{rule.Invalid, exitBroken}, {rule.Error, exitBroken}} {
		table := conform.NewTable([]string{"x"}, false, (&conform.Options{}).Again)
		table.Add(&suite.Outcome{Impl: "x", Scenario: "one", Status: rule.Pass})
		table.Add(&suite.Outcome{Impl: "x", Scenario: "two", Status: c.status})
		if got := report(concludeConform(context.Background(), io.Discard, table, 2, false)); got != c.want {
			t.Errorf("%v: exit code %d, want %d", c.status, got, c.want)
		}
		want := exitBroken
		if c.status == rule.Fail {
			want = exitFailure // the failure stands whatever the remaining scenarios would give
		}
		if got := report(concludeConform(context.Background(), io.Discard, table, 3, false)); got != want {
			t.Errorf("%v, one scenario missing: exit code %d, want %d", c.status, got, want)
		}
		table.Add(&suite.Outcome{Impl: "x", Scenario: "three", Status: rule.Fail})
		if got := report(concludeConform(context.Background(), io.Discard, table, 3, false)); got != exitFailure {
			t.Errorf("a failure beside %v: exit code %d, want %d", c.status, got, exitFailure)
		}
	}
}
