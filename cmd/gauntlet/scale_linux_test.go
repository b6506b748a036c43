//go:build netns

package main

import (
	"regexp"
	"strconv"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// The result of hundreds of QPs on real devices has their fairness and the memory units that they share.
func TestManyQPsNetns(t *testing.T) {
	r, _ := onNetns(t, "--impl", "fasr", "--qps", "400", "--rate", "20M", "--rtt", "20ms", "--loss", "1%", "--msg",
		"2KiB", "--count", "1", "--qd", "1")
	wantPass(t, r)
	if high := shared(r, "A pool_units_high"); high < 1 || high > 20 || r.Messages != 400 || r.Fairness < 0.5 {
		t.Errorf("%d units, %d messages, fairness %.3f", high, r.Messages, r.Fairness)
	}
	made := regexp.MustCompile(`^400 QPs made in [0-9.]+m?s; [1-9][0-9]* MiB of memory at most$`)
	for _, f := range r.Environment {
		if f.Name == "endpoint A" && made.MatchString(f.Value) {
			return
		}
	}
	t.Errorf("no fact about the endpoint in %v", r.Environment)
}

// shared returns the value of a resource that the QPs of a side share; -1 when there is none.
func shared(r *model.Result, name string) int {
	for _, f := range r.Shared {
		if f.Name == name {
			n, _ := strconv.Atoi(f.Value)
			return n
		}
	}
	return -1
}
