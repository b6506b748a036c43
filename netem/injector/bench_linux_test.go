package injector_test

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/topology"
	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// full returns a full packet from A: a WRITE_MIDDLE of 1024 bytes, psn after the start PSN.
func full(s *scenario.Spec, psn int) []byte {
	p := roce.Packet{Payload: make([]byte, 1024), Len: 1024}
	p.Opcode, p.PKey, p.DestQP, p.PSN = roce.WriteMiddle, roce.DefaultPKey, s.Ends(0)[trace.B].QPN,
		s.QP[trace.A].SendPSN.Add(psn)
	var f roce.Frame
	drive.Frame(&f, trace.A, 0, &p)
	return f.AppendTo(nil)
}

// BenchmarkProgram measures the cost of the program per packet, without devices.
func BenchmarkProgram(b *testing.B) {
	for _, c := range []struct {
		name  string
		lines []string
		log   io.Writer
	}{
		{"loss", []string{"loss A>B random p=1e-4"}, nil},
		{"one fault", []string{"drop A psn=+5 tx=1"}, nil},
		{"one fault and loss", []string{"drop A psn=+5 tx=1", "loss A>B random p=1e-4"}, nil},
		{"every transmission counted", []string{"drop A tx=2 nth=1000000000"}, nil},
		{"one fault and loss, log", []string{"drop A psn=+5 tx=1", "loss A>B random p=1e-4"}, io.Discard},
		{"64 faults", many("drop A psn=+%d tx=1", 64), nil},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := scenario.Default()
			for _, l := range c.lines {
				if err := s.Line(l); err != nil {
					b.Fatal(err)
				}
			}
			i := open(b, s, c.log)
			defer i.Close()
			frame, took := full(s, 1), time.Duration(0)
			for b.Loop() {
				_, each, err := i.Programs()[trace.A].Benchmark(frame, 10000, func() {})
				if err != nil {
					b.Fatal(err)
				}
				took += each
			}
			b.ReportMetric(float64(took.Nanoseconds())/float64(b.N), "ns/packet")
		})
	}
}

// many returns n lines with a pattern.
func many(pattern string, n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf(pattern, 10*(i+1)))
	}
	return list
}

// BenchmarkLink measures full packets per second over a link with a loss rate of 1e-4, where the link has losses: a
// veth pair, two veth pairs and a bridge, these with the injector, with and without its log, and the relay. A window of
// packets is in flight.
func BenchmarkLink(b *testing.B) {
	s := scenario.Default()
	for _, l := range []string{"loss A>B random p=1e-4", "load write msg=1KiB count=1"} {
		if err := s.Line(l); err != nil {
			b.Fatal(err)
		}
	}
	for _, c := range []struct {
		name   string
		bridge bool
		link   func(*rig)
	}{
		{"veth", false, func(r *rig) { r.ends[trace.B] = r.port(b, r.top.M, topology.PortA) }},
		{"bridge", true, func(*rig) {}},
		{"injector without log", true, func(r *rig) { r.inject(b, s, nil) }},
		{"injector", true, func(r *rig) { r.inject(b, s, io.Discard) }},
		{"relay", false, func(r *rig) { r.relay(b, s) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			r := newRig(b, c.bridge)
			c.link(r)
			r.pump(b, full(s, 1))
		})
	}
}

// pump sends a frame b.N times from A, with at most window in flight.
func (r *rig) pump(b *testing.B, frame []byte) {
	b.Helper()
	const some, window = 32, 512
	batch := make([][]byte, some)
	for i := range batch {
		batch[i] = frame
	}
	waiter := packetio.NewWaiter(r.clock, r.ends[trace.B].Fd())
	b.ResetTimer()
	for sent, come, last := 0, 0, r.clock.Now(); come < b.N; {
		if sent < b.N && sent-come < window {
			n, err := r.ends[trace.A].Send(batch[:min(some, b.N-sent)])
			if err != nil {
				b.Fatal(err)
			}
			sent += n
		} else if err := waiter.Wait(r.clock.Now().Add(vtime.Millisecond)); err != nil {
			b.Fatal(err)
		}
		got, err := r.ends[trace.B].Receive()
		if err != nil {
			b.Fatal(err)
		}
		if come += len(got); len(got) > 0 {
			last = r.clock.Now()
		} else if r.clock.Now().Sub(last) > 20*vtime.Millisecond { // frames not received by then are lost
			come, last = sent, r.clock.Now()
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "packets/s")
}
