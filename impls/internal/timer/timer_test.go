package timer

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

func TestTimer(t *testing.T) {
	tm := Timer{Period: 10}
	check := func(what string, want vtime.Time) {
		t.Helper()
		if got := tm.Deadline(); got != want || tm.Running() != (want != vtime.Never) {
			t.Errorf("%s: deadline %d, running %v; want %d", what, got, tm.Running(), want)
		}
	}
	check("new", vtime.Never)
	tm.Start(5)
	check("started", 15)
	tm.Start(7)
	check("started again", 15)
	tm.Restart(7)
	check("restarted", 17)
	if tm.Expire(16) {
		t.Error("expires before its deadline")
	}
	if !tm.Expire(17) || tm.Expire(18) {
		t.Error("does not expire once at its deadline")
	}
	check("expired", vtime.Never)
	tm.Start(20)
	tm.Stop()
	check("stopped", vtime.Never)
}

func TestWithoutPeriodItIsOff(t *testing.T) {
	var tm Timer
	tm.Restart(3)
	if tm.Running() || tm.Expire(vtime.Never-1) {
		t.Error("a timer without period runs")
	}
}
