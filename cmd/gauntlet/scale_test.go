package main

import (
	"slices"
	"strconv"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/impls/all"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// shared finds what the QPs of a side share; -1 when it is not there.
func shared(r *model.Result, name string) int {
	for _, f := range r.Shared {
		if f.Name == name {
			n, _ := strconv.Atoi(f.Value)
			return n
		}
	}
	return -1
}

// A thousand QPs, or with -short two hundred, finish their work with the same share of the line each, whatever the scheme.
func TestManyQPs(t *testing.T) {
	t.Parallel()
	const qps = 1000
	for _, i := range all.Implementations() {
		impl := i.Name
		if i.NewBox != nil {
			continue // the metrics measure the hop behind the box
		}
		o := gauntlet(t, t.TempDir(), "run", "--impl", impl, "--qps", strconv.Itoa(qps), "--loss", "1%", "--msg", "4KiB", "--count", "2", "--qd", "2", "--rate", "1G", "--json")
		r := o.result(t)
		all := r.Messages == int64(2*qps) || slices.Contains(i.Features, "unreliable") && r.Messages > int64(19*qps/10) // what is lost there stays lost
		if o.code != 0 || !all || r.Lost == 0 || r.Fairness < 0.9 && !i.OverIP() {
			t.Errorf("%s: exit %d, %s %s, %d messages, %d lost, fairness %.3f", impl, o.code, r.Status, r.Reason, r.Messages, r.Lost, r.Fairness)
		}
		if high := shared(r, "A pool_units_high"); impl == "fasr" && (high < 1 || high > 20) {
			t.Errorf("%d of 20 units were taken at once: %v", high, r.Shared)
		}
	}
}
