package sim_test

import (
	"fmt"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
)

// BenchmarkWorld measures simulated packets per second with whole engines, including ACKs: 10 Gb/s and 40 ms RTT, so
// that 22 600 packets are in flight, with and without the codec, and with 1 to 5000 QPs. It does not time the building
// of the world.
func BenchmarkWorld(b *testing.B) {
	for _, c := range []struct {
		bytes   bool
		qps, qd int
		msg     string
	}{{false, 1, 512, "1MiB"}, {false, 100, 16, "1MiB"}, {false, 5000, 1, "1MiB"}, {true, 1, 512, "1MiB"},
		{true, 100, 16, "64KiB"}} {
		b.Run(fmt.Sprintf("bytes=%v/qps=%d", c.bytes, c.qps), func(b *testing.B) {
			b.ReportAllocs()
			total := 0
			for b.Loop() {
				b.StopTimer()
				s := spec(b, "link rate=10G delay=20ms queue=100000", "loss random p=1e-5",
					fmt.Sprintf("qp count=%d qd=%d receives=8", c.qps, c.qd), "load write msg="+c.msg, "run for=2s")
				var n tally
				w := world(b, s, sim.Options{Bytes: c.bytes, Sink: &n})
				b.StartTimer()
				if err := w.Run(); err != nil {
					b.Fatal(err)
				}
				total += n.packets
			}
			b.ReportMetric(float64(total)/b.Elapsed().Seconds(), "packets/s")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(total), "ns/packet")
		})
	}
}
