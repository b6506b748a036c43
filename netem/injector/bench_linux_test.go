package injector_test

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// full is a full packet from A: WRITE_MIDDLE of 1024 bytes, so many after the first PSN.
func full(s *scenario.Spec, psn int) []byte {
	p := roce.Packet{Payload: make([]byte, 1024), Len: 1024}
	p.Opcode, p.PKey, p.DestQP, p.PSN = roce.WriteMiddle, roce.DefaultPKey, s.Ends(0)[trace.B].QPN,
		s.QP[trace.A].SendPSN.Add(psn)
	var f roce.Frame
	drive.Frame(&f, trace.A, 0, &p)
	return f.AppendTo(nil)
}

// What the program costs a packet, without devices around it.
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
			if err := i.Feed(); err != nil {
				b.Fatal(err)
			}
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

// many makes so many lines of a pattern.
func many(pattern string, n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf(pattern, 10*(i+1)))
	}
	return list
}
