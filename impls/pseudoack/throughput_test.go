package pseudoack_test

import (
	"fmt"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
	"github.com/rdma-gauntlet/gauntlet/impls/pseudoack"
)

// arrivals counts the payload that reaches B in a window of time.
type arrivals struct {
	hop      trace.Hop
	header   trace.Header
	from, to vtime.Time
	bytes    int
}

func (a *arrivals) Packet(r *trace.Record) {
	if r.From == trace.A && a.header.On(r.Conn) == a.hop && r.Recv >= a.from && r.Recv < a.to &&
		r.Packet.Opcode.IsWrite() {
		a.bytes += r.Packet.Len
	}
}
func (a *arrivals) Event(*trace.Event) {}
func (a *arrivals) End(vtime.Time)     {}

// goodput returns the payload rate at B in bit/s, once the connection is set up and the pipe is full.
func goodput(t *testing.T, impl engine.Implementation, rtt vtime.Duration, lines ...string) float64 {
	t.Helper()
	measured := max(4*vtime.Millisecond, 2*rtt) // whole round trips, because a full window comes in bursts
	begin := 4*rtt + vtime.Millisecond
	s := scenario.Default()
	lines = append(lines, fmt.Sprintf("link delay=%s", rtt/2), fmt.Sprintf("run for=%s", begin+measured))
	for _, l := range lines {
		if err := s.Line(l); err != nil {
			t.Fatal(err)
		}
	}
	s.FitTimeout()
	a := &arrivals{from: vtime.Time(begin), to: vtime.Time(begin + measured)}
	w, err := sim.New(s, [2]engine.Implementation{impl, impl}, sim.Options{Sink: a})
	if err != nil {
		t.Fatal(err)
	}
	if a.header = w.Header(); a.header.Divided() {
		a.hop = trace.WANHop
	}
	if err := w.Run(); err != nil {
		t.Fatal(err)
	}
	return float64(a.bytes) * 8 / measured.Seconds()
}

// With the box, throughput does not depend on the RTT of the WAN while the buffer holds a bandwidth-delay product;
// without it, the queue depth limits the packets in flight.
func TestThroughputIsIndependentOfRTT(t *testing.T) {
	lines := []string{"link rate=10G queue=100000", "lan rate=10G", "qp mtu=4096 qd=128", "load write msg=4KiB"}
	box := pseudoack.Over(gbn.Implementation())
	base := goodput(t, box, 100*vtime.Microsecond, lines...)
	if base < 9.7e9 {
		t.Errorf("%.3g b/s at 0.1 ms, want the line rate", base)
	}
	for _, rtt := range []vtime.Duration{vtime.Millisecond, 5 * vtime.Millisecond, 10 * vtime.Millisecond} {
		if g := goodput(t, box, rtt, lines...); g < 0.99*base || g > 1.01*base {
			t.Errorf("%.3g b/s at %v, %.3g at 0.1 ms: want the same within 1 %%", g, rtt, base)
		}
	}
	if g := goodput(t, gbn.Implementation(), 10*vtime.Millisecond, lines...); g > 0.1*base {
		t.Errorf("without the box %.3g b/s at 10 ms: the comparison shows nothing", g)
	}
}

// A buffer below the bandwidth-delay product limits the promised requests, and so the throughput.
func TestBufferBoundsThroughput(t *testing.T) {
	lines := []string{"link rate=10G queue=100000", "lan rate=10G", "qp mtu=4096 qd=16", "load write msg=4KiB",
		"param buffer=1MiB"}
	got := goodput(t, pseudoack.Over(gbn.Implementation()), 10*vtime.Millisecond, lines...)
	if most := float64(1<<20+16*4096) * 8 / 0.010; got > 1.05*most || got < 0.5*most {
		t.Errorf("%.3g b/s through a buffer of 1 MiB at 10 ms, want about %.3g", got, most)
	}
}

// "the RDMA WAN accelerator starts to improve network throughput for smaller message sizes" (section 5.3): 512 bytes,
// 100 Gb/s, RTT 1 ms. The paper's 35 times are the packet rate of its machine; virtual time has no such limit.
func TestSmallMessages(t *testing.T) {
	lines := []string{"link rate=100G queue=100000", "qp mtu=4096 qd=128", "load write msg=512"}
	with := goodput(t, pseudoack.Over(gbn.Implementation()), vtime.Millisecond, lines...)
	without := goodput(t, gbn.Implementation(), vtime.Millisecond, lines...)
	if with < 35*without {
		t.Errorf("%.3g b/s with the box, %.3g without: %.1f times, want 35 or more", with, without, with/without)
	}
	t.Logf("%.3g b/s with the box, %.3g without: %.0f times", with, without, with/without)
}
