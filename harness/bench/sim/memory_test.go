package sim_test

import (
	"runtime"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
)

// The estimate is above the memory of a run with a full pipe and, for large runs, less than ten times that.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: fills thousands of queues")
	}
	for name, lines := range map[string][]string{
		"many QPs":    {"link rate=100G delay=3us", "qp count=5000 qd=2", "load write msg=8KiB", "run for=1ms"},
		"long pipe":   {"link rate=100G delay=10ms queue=400000", "qp qd=8000", "load write msg=64KiB", "run for=20ms"},
		"short queue": {"link delay=1ms", "qp qd=4", "load write msg=1KiB", "run for=20ms"},
		"bytes":       {"link rate=100G delay=3us", "qp count=2000 qd=2", "load write msg=64KiB", "run for=1ms"},
	} {
		s, frames := spec(t, lines...), name == "bytes"
		held := func() uint64 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		before := held()
		var most uint64
		w := world(t, s, sim.Options{Bytes: frames, Sink: &tally{}, Progress: func(vtime.Time) error {
			most = max(most, held())
			return nil
		}})
		if err := w.Run(); err != nil {
			t.Fatal(err)
		}
		most = max(most, held()) - before
		runtime.KeepAlive(w)
		got := uint64(sim.Memory(s, both(gbn.Implementation()), frames))
		if t.Logf("%s: %d KiB held, %d KiB estimated", name, most>>10, got>>10); got < most ||
			most > 30<<20 && got > 10*most {
			t.Errorf("%s: %d KiB held, %d KiB estimated", name, most>>10, got>>10)
		}
	}
}
