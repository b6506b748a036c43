//go:build unix

package run

import (
	"testing"
	"time"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/registry"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/shorthand"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
)

// BenchmarkRun makes whole runs in virtual time, judged and measured, without a folder: 10 Gb/s, 40 ms and a loss rate
// of 1e-4 for 200 ms, in which go-back-N retransmits most packets. It reports data packets per second of processor
// time, including retransmissions.
func BenchmarkRun(b *testing.B) {
	for _, impl := range []string{"gbn", "irn"} {
		for _, codec := range []Codec{CodecOn, CodecOff} {
			b.Run(impl+"/codec="+string(codec), func(b *testing.B) {
				packets, from := int64(0), used(b)
				for b.Loop() {
					packets += runOnce(b, impl, codec)
				}
				b.ReportMetric(float64(packets)/(used(b)-from).Seconds(), "packets/cpu-s")
			})
		}
	}
}

// runOnce makes a run and returns the number of data packets that it put on the link.
func runOnce(b *testing.B, impl string, codec Codec) int64 {
	b.Helper()
	w := shorthand.Words{Impl: impl, Rate: "10G", RTT: "40ms", Jitter: "0s", Loss: "1e-4", MTU: 1024, Message: "1MiB",
		Operation: "write", Congestion: "none", QPs: 1, Depth: 128, CQMod: 1, Timeout: -1, Seed: 1,
		Duration: 200 * time.Millisecond}
	if impl == "irn" {
		w.Params = []string{"cap=65536", "rtt=40ms"} // enough for the path
	}
	s, err := w.Spec(nil, func(name string) bool { return name == "duration" })
	if err != nil {
		b.Fatal(err)
	}
	impls, err := registry.Ends(s)
	if err != nil {
		b.Fatal(err)
	}
	r, err := Execute(b.Context(),
		Options{Spec: s, Bench: sim.Bench{}, Name: "sim", Impls: impls, Rules: rules.All(), Codec: codec})
	if err != nil {
		b.Fatal(err)
	}
	return r.DataPackets
}
