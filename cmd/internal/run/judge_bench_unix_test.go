//go:build unix

package run

import (
	"runtime"
	"syscall"
	"testing"
	"time"
)

// used returns the processor time of this process, which other processes of a busy machine do not change.
func used(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkJudgeOneFlow judges the capture of one connection, with packets of 1 KiB and an answer to every 16th. It
// reports packets per second of processor time, from opening the file to the last packet. Figures: perf/COST.md.
func BenchmarkJudgeOneFlow(b *testing.B) {
	const packets = 200_000
	file := crowd{1, packets, 1024}.pcap()
	for _, at := range []string{"requester", "responder"} {
		b.Run(at, func(b *testing.B) {
			b.ReportAllocs()
			from := used(b)
			for b.Loop() {
				judgeCapture(b, file, at)
			}
			b.ReportMetric(float64(b.N)*packets*17/16/(used(b)-from).Seconds(), "packets/cpu-s")
		})
	}
}

// BenchmarkJudgeFlows judges a capture of 66 000 connections with one packet and its answer each, and one of 40 000
// with five. It reports the memory per connection. Figures: perf/COST.md.
func BenchmarkJudgeFlows(b *testing.B) {
	for _, c := range []crowd{{66_000, 1, 8}, {40_000, 5, 256}} {
		file := c.pcap()
		b.Run(map[int]string{1: "66000", 5: "40000"}[c.packets], func(b *testing.B) {
			before, _ := heap()
			var j judged
			from := used(b)
			for b.Loop() {
				j = judged{}
				j = judgeCapture(b, file, "responder")
			}
			b.ReportMetric((used(b)-from).Seconds()/float64(b.N), "cpu-s/op")
			after, _ := heap()
			b.ReportMetric(float64(after-before)/float64(c.conns), "B/conn")
			runtime.KeepAlive(j)
		})
	}
}
