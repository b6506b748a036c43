//go:build unix

package sim_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// besideFor is the virtual time of each simulation, in seconds; besideRounds is the number of simulations by each
// simulator.
const (
	besideFor    = 0.5
	besideRounds = 3
)

// contender is a simulation of 10 Gb/s, 20 ms one way and a loss rate of 1e-4, whose sender fills the line with packets
// of 1 KiB. run returns packets per second of processor time: those that the sender put on the link, and those in both
// directions.
type contender struct {
	name              string
	run               func(b *testing.B) (data, all float64)
	bestData, bestAll float64
}

// BenchmarkBesideNS3 runs a flow in ns-3 and in this simulator, in turns, and reports the best of each: the fastest run
// is the one that other programs disturbed least. It counts the packets that the sender puts on the link, including
// retransmissions; packets in both directions are reported beside.
//
// The work differs. The flow of ns-3 is datagrams without answers, bytes or checksums. Ours is of whole engines, and
// with the codec every packet is encoded, sealed with its ICRC, checked and decoded. ns-3's packets cross a socket, an
// IP layer and the queueing discipline of its helpers; ns-3-bare has no queueing discipline.
func BenchmarkBesideNS3(b *testing.B) {
	program := os.Getenv("GAUNTLET_NS3")
	if program == "" {
		b.Skip("GAUNTLET_NS3 names no program; make bench-ns3 builds it")
	}
	contenders := []contender{
		{name: "ns-3", run: runNS3(program, "--queue-disc=true")},
		{name: "ns-3-bare", run: runNS3(program, "--queue-disc=false")},
		{name: "gbn-codec", run: runBeside("gbn", true)},
		{name: "gbn", run: runBeside("gbn", false)},
		{name: "irn-codec", run: runBeside("irn", true)},
		{name: "irn", run: runBeside("irn", false)},
	}
	for range besideRounds {
		for i := range contenders {
			c := &contenders[i]
			data, all := c.run(b)
			c.bestData, c.bestAll = max(c.bestData, data), max(c.bestAll, all)
		}
	}
	for _, c := range contenders {
		b.Run(c.name, func(b *testing.B) {
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(c.bestData, "packets/cpu-s")
			b.ReportMetric(c.bestAll, "with-answers/cpu-s")
			b.ReportMetric(c.bestData/contenders[0].bestData, "x-ns-3")
		})
	}
}

// runNS3 runs program, which is built from perf/ns3/flow.cc.
func runNS3(program, option string) func(*testing.B) (float64, float64) {
	return func(b *testing.B) (float64, float64) {
		out, err := exec.CommandContext(b.Context(), program, fmt.Sprintf("--seconds=%g", besideFor),
			option).CombinedOutput()
		if err != nil {
			b.Fatalf("%s: %v\n%s", program, err, out)
		}
		var packets int
		var spent float64
		if _, err := fmt.Sscan(string(out), &packets, &spent); err != nil || packets == 0 || spent <= 0 {
			b.Fatalf("%s printed %q, want packets and seconds: %v", program, out, err)
		}
		rate := float64(packets) / spent
		return rate, rate
	}
}

// runBeside runs an implementation over the same link, with a window that fills it.
func runBeside(name string, codec bool) func(*testing.B) (float64, float64) {
	lines := []string{"link rate=10G delay=20ms queue=100000", "loss random p=1e-4", "qp qd=1024 rto=100ms",
		"load write msg=64KiB",
		fmt.Sprintf("run for=%dms", int(besideFor*1000))}
	if name == "irn" {
		lines = append(lines, "param cap=65536 rtt=40ms")
	}
	return func(b *testing.B) (float64, float64) {
		var n sides
		w := scaledWorld(b, name, lines, sim.Options{Bytes: codec, Sink: &n})
		before := used(b)
		if err := w.Run(); err != nil {
			b.Fatal(err)
		}
		spent := (used(b) - before).Seconds()
		return float64(n.sent[trace.A]) / spent, float64(n.sent[trace.A]+n.sent[trace.B]) / spent
	}
}

// sides counts the packets that each side puts on the link.
type sides struct {
	tally
	sent [2]int
}

func (s *sides) Packet(r *trace.Record) { s.sent[r.From]++ }
