package run

import (
	"slices"
	"strconv"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/shorthand"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

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

// Hundreds of QPs finish their work with equal shares of the line, whatever the scheme.
func TestManyQPs(t *testing.T) {
	t.Parallel()
	const qps = 300
	for _, i := range all.Implementations() {
		impl := i.Name
		if i.NewBox != nil || testing.Short() && impl != "gbn" && impl != "fasr" {
			continue // the metrics measure the hop behind the middlebox
		}
		r := inWords(t, func(w *shorthand.Words) {
			w.Impl, w.QPs, w.Loss, w.Message, w.Count, w.Depth = impl, qps, "1%", "4KiB", 2, 2
		})
		if r == nil {
			t.Errorf("%s: refused", impl)
			continue
		}
		// unreliable implementations do not send lost messages again
		all := r.Messages == int64(2*qps) || slices.Contains(i.Features, "unreliable") && r.Messages > int64(19*qps/10)
		if ExitCode(r) != 0 || !all || r.Lost == 0 || r.Fairness < 0.9 && !i.OverIP() {
			t.Errorf("%s: %s %s, %d messages, %d lost, fairness %.3f", impl, r.Status, r.Reason, r.Messages,
				r.Lost, r.Fairness)
		}
		if high := shared(r, "A pool_units_high"); impl == "fasr" && (high < 1 || high > 20) {
			t.Errorf("%d of 20 units were taken at once: %v", high, r.Shared)
		}
	}
}
