//go:build unix

package sim_test

import (
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
)

// scaled is a run of so many packet times over 1 ms of round trip, so that the line alone decides how many packets are
// in the air: 11 at 100 Mb/s, 45 000 at 400 Gb/s.
func scaled(name string, rate unit.Rate, qps, packets int) []string {
	window := min(max(2*product(rate), 64), 1<<16)
	depth := max(2, window/qps/64+2) // messages of 64 packets
	lasts := vtime.Duration(packets) * rate.Time(wire)
	if name == "rciwarp" && qps == 1 { // TCP has some 120 packets in the air at this loss, on a line however fast
		lasts = max(lasts, vtime.Second)
	}
	lines := []string{fmt.Sprintf("link rate=%s delay=500us queue=400000", rate), "loss random p=1e-4",
		fmt.Sprintf("qp count=%d qd=%d rto=10ms", qps, depth),
		"load write msg=64KiB", fmt.Sprintf("run for=%s", lasts)}
	return append(lines, windowed(name, max(64, window/qps))...)
}

// wire is what a full packet takes of the line, and product how many are on the path when it is full.
const wire = 1106

func product(rate unit.Rate) int { return int(float64(rate) / 1000 / 8 / wire) }

// windowed is the parameter by which a selective scheme is given as much as the path needs, and no more, and a box all
// flows.
func windowed(name string, window int) []string {
	switch name {
	case "irn", "srnic":
		return []string{fmt.Sprintf("param cap=%d rtt=1ms", window)}
	case "pseudoack":
		return []string{"param flows=8192"} // else most pass by
	case "fasr":
		return []string{fmt.Sprintf("param window=%d blocks=4096 units=255", window)}
	}
	return nil
}

// used is the processor time that this process has taken. Other processes of a busy machine do not count in it.
func used(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkScale measures simulated packets per second of one core, with whole engines, ACKs counted in, by processor
// time: from 100 Mb/s to 400 Gb/s with one QP, and from 1 to 5000 QPs at 100 Gb/s. A packet should cost as much at any
// rate; with many QPs it costs what missing the processor's caches does. Of schemes with bytes the comparison of memory
// at the end is counted in.
func BenchmarkScale(b *testing.B) {
	for _, name := range all.Names() {
		for _, c := range []struct {
			rate unit.Rate
			qps  int
		}{{100 * unit.Mbps, 1}, {unit.Gbps, 1}, {10 * unit.Gbps, 1}, {100 * unit.Gbps, 1}, {400 * unit.Gbps, 1},
			{100 * unit.Gbps, 100}, {100 * unit.Gbps, 1000}, {100 * unit.Gbps, 5000}} {
			b.Run(fmt.Sprintf("%s/%s/qps=%d", name, c.rate, c.qps), func(b *testing.B) {
				packets := max(200_000, 400*c.qps, 20*product(c.rate)) // so that starting is a small part
				total, spent := 0, time.Duration(0)
				for b.Loop() {
					var n tally
					w := scaledWorld(b, name, scaled(name, c.rate, c.qps, packets), sim.Options{Sink: &n})
					before := used(b)
					if err := w.Run(); err != nil {
						b.Fatal(err)
					}
					spent += used(b) - before
					total += n.packets
				}
				b.ReportMetric(float64(total)/spent.Seconds(), "packets/cpu-s")
				b.ReportMetric(float64(spent.Nanoseconds())/float64(total), "cpu-ns/packet")
			})
		}
	}
}

// scaledWorld builds a world of the implementation, with windows as large as the path needs.
func scaledWorld(b *testing.B, name string, lines []string, o sim.Options) *sim.World {
	impl, ok := all.Find(name)
	if !ok {
		b.Fatalf("no implementation %s", name)
	}
	w, err := sim.New(spec(b, lines...), both(impl), o)
	if err != nil {
		b.Fatal(err)
	}
	return w
}

// BenchmarkHeld measures the memory that a packet of the path takes: what a world with a full pipe holds beyond one
// whose pipe is short, over the packets between that a round trip holds. With few ACKs half as many are on their way at
// once.
func BenchmarkHeld(b *testing.B) {
	for _, name := range []string{"gbn", "irn", "fasr"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				small, few := held(b, name, unit.Gbps)
				large, many := held(b, name, 400*unit.Gbps)
				b.ReportMetric(float64(large-small)/float64(many-few), "B/in-flight-packet")
			}
		})
	}
}

// held is the most that a world holds while it runs, and how many packets its path does.
func held(b *testing.B, name string, rate unit.Rate) (most, path int) {
	heap := func() int {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	before, calls := heap(), 0
	w := scaledWorld(b, name, scaled(name, rate, 1, 200_000), sim.Options{Sink: &tally{},
		Progress: func(vtime.Time) error {
			if calls++; calls%8 == 0 { // a collection is slow
				most = max(most, heap()-before)
			}
			return nil
		}})
	if err := w.Run(); err != nil {
		b.Fatal(err)
	}
	most = max(most, heap()-before)
	runtime.KeepAlive(w)
	return most, product(rate)
}
