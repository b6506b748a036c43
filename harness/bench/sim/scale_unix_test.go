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

// scaled is a run of the given number of packet times over 1 ms RTT. The line rate alone decides the number of packets
// in flight: 11 at 100 Mb/s, 45 000 at 400 Gb/s.
func scaled(name string, rate unit.Rate, qps, packets int) []string {
	window := min(max(2*product(rate), 64), 1<<16)
	depth := max(2, window/qps/64+2) // messages of 64 packets
	lasts := vtime.Duration(packets) * rate.Time(wire)
	if name == "rciwarp" && qps == 1 { // about 120 packets are in flight at this loss rate, whatever the line rate
		lasts = max(lasts, vtime.Second)
	}
	lines := []string{fmt.Sprintf("link rate=%s delay=500us queue=400000", rate), "loss random p=1e-4",
		fmt.Sprintf("qp count=%d qd=%d rto=10ms", qps, depth),
		"load write msg=64KiB", fmt.Sprintf("run for=%s", lasts)}
	return append(lines, windowed(name, max(64, window/qps))...)
}

// wire is the bytes of a full packet on the line, and product the packets in flight on a full path.
const wire = 1106

func product(rate unit.Rate) int { return int(float64(rate) / 1000 / 8 / wire) }

// windowed returns the parameters for a window of packets: of a selective scheme, and of a middlebox, which keeps all
// flows.
func windowed(name string, window int) []string {
	switch name {
	case "irn", "srnic":
		return []string{fmt.Sprintf("param cap=%d rtt=1ms", window)}
	case "pseudoack":
		return []string{"param flows=8192"} // else most bypass it
	case "fasr":
		return []string{fmt.Sprintf("param window=%d blocks=4096 units=255", window)}
	}
	return nil
}

// used returns the processor time of this process, which other processes of a busy machine do not change.
func used(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkScale measures simulated packets per second of processor time with whole engines, including ACKs: from 100
// Mb/s to 400 Gb/s with one QP, and from 1 to 5000 QPs at 100 Gb/s. A packet should cost the same at any rate; many QPs
// add cache misses. For schemes with bytes it includes the comparison of memory.
func BenchmarkScale(b *testing.B) {
	for _, name := range all.Names() {
		for _, c := range []struct {
			rate unit.Rate
			qps  int
		}{{100 * unit.Mbps, 1}, {unit.Gbps, 1}, {10 * unit.Gbps, 1}, {100 * unit.Gbps, 1}, {400 * unit.Gbps, 1},
			{100 * unit.Gbps, 100}, {100 * unit.Gbps, 1000}, {100 * unit.Gbps, 5000}} {
			b.Run(fmt.Sprintf("%s/%s/qps=%d", name, c.rate, c.qps), func(b *testing.B) {
				packets := max(200_000, 400*c.qps, 20*product(c.rate)) // so many that the start is a small part
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

// BenchmarkHeld measures the memory per packet in flight: the difference between worlds with a long and a short pipe,
// divided by the difference in packets of a round trip. With few ACKs half as many packets are in flight.
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

// held returns the largest heap use of a world in bytes, and the packets in flight on its full path.
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
			if calls++; calls%8 == 0 { // garbage collection is slow
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
