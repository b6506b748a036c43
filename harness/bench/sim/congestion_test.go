package sim_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
	"github.com/rdma-gauntlet/gauntlet/netem/channel"
)

// shares counts the bytes that each connection delivers in the second half of a run, and the packets with signs of
// congestion.
type shares struct {
	from          vtime.Time
	bytes         [2]float64
	cnps, echoes  int
	marked, lossy int
}

func (s *shares) Packet(r *trace.Record) {
	switch {
	case r.Packet.Opcode == roce.CNP:
		s.cnps++
	case r.From == trace.B && r.Packet.BECN:
		s.echoes++
	case r.From == trace.A && r.Recv >= s.from && r.Recv != vtime.Never:
		s.bytes[r.Conn] += float64(r.Packet.Len)
	}
	if r.Cause == "ecn" {
		s.marked++
	}
	if r.Fate == trace.Dropped {
		s.lossy++
	}
}
func (s *shares) Event(*trace.Event) {}
func (s *shares) End(vtime.Time)     {}

// bottleneck runs two flows from a port of 40 Gb/s into a line of 10 Gb/s that marks from 100 waiting packets on.
func bottleneck(t *testing.T, control string, bytes bool) (*shares, channel.Counters) {
	t.Helper()
	s, err := scenario.Parse(strings.NewReader(fmt.Sprintf(`link rate=10G delay=20us port=40G queue=4000 `+
		`ecn-min=100 ecn-max=300 ecn-p=10%%
qp mtu=1024 qd=64 rto=20ms ackreq=1 count=2 cc=%s
load write msg=16KiB
run for=40ms
`, control)))
	if err != nil {
		t.Fatal(err)
	}
	got := &shares{from: vtime.Time(20 * vtime.Millisecond)}
	impl := gbn.Implementation()
	w, err := sim.New(s, [2]engine.Implementation{impl, impl}, sim.Options{Bytes: bytes, Sink: got})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Run(); err != nil {
		t.Fatal(err)
	}
	return got, w.Channel(trace.A).Counters()
}

// TestRateControl: with a rate control the queue stays short, the line full and the shares fair; without one the
// outstanding packets fill the queue. Packets without bytes meet the same congestion as frames.
func TestRateControl(t *testing.T) {
	_, without := bottleneck(t, "none", false)
	if without.QueueMax < 1500 {
		t.Errorf("without control %d packets waited, want most of the 2048 outstanding", without.QueueMax)
	}
	for _, control := range []string{"dcqcn", "dctcp"} {
		for _, bytes := range []bool{false, true} {
			got, link := bottleneck(t, control, bytes)
			gbps := (got.bytes[0] + got.bytes[1]) * 8 / 20e-3 / 1e9
			fair := got.bytes[0] / (got.bytes[0] + got.bytes[1])
			t.Logf("%s, bytes %v: %.2f Gb/s, share %.2f, %d waited, %d marked, %d CNPs, %d echoes", control, bytes,
				gbps, fair, link.QueueMax, link.Marked, got.cnps, got.echoes)
			switch {
			case got.lossy > 0 || gbps < 6:
				t.Errorf("%s: %.2f Gb/s, %d lost; want 6 of 10 at least, and nothing lost", control, gbps, got.lossy)
			case fair < 0.3 || fair > 0.7:
				t.Errorf("%s: the first flow has %.2f of the line, want 0.3 to 0.7", control, fair)
			case got.marked == 0 || (control == "dcqcn") != (got.cnps > 0) || (control == "dctcp") != (got.echoes > 0):
				t.Errorf("%s: %d marked, %d CNPs, %d echoes", control, got.marked, got.cnps, got.echoes)
			case link.QueueMax >= without.QueueMax:
				t.Errorf("%s: %d packets waited, %d without it", control, link.QueueMax, without.QueueMax)
			}
		}
	}
}
