package metrics_test

import (
	"math"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
	"github.com/rdma-gauntlet/gauntlet/perf/metrics"
)

// simulate measures a go-back-N run in virtual time.
func simulate(t *testing.T, lines ...string) (*metrics.Collector, *trace.Collector) {
	t.Helper()
	s := scenario.Default()
	for _, l := range lines {
		if err := s.Line(l); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	var kept trace.Collector
	g := gbn.Implementation()
	w, err := sim.New(s, [2]engine.Implementation{g, g}, sim.Options{Sink: &kept})
	if err != nil {
		t.Fatal(err)
	}
	h := w.Header()
	if err := w.Run(); err != nil {
		t.Fatal(err)
	}
	c := metrics.NewCollector(&h,
		metrics.Options{Rates: [2]unit.Rate{s.Link.AB.Rate, s.Link.BA.Rate}, Timed: s.For > 0})
	kept.Play(trace.NewTimeline(&h, c))
	return c, &kept
}

// One message of n packets over a link with one-way delay d: the last packet has left after n packet times; it arrives
// a delay later, and its ACK a delay and an ACK time after that. The first packet's last bit leaves after one packet
// time.
func TestClosedFormOfOneMessage(t *testing.T) {
	for _, msg := range []string{"1KiB", "64KiB", "1MiB"} {
		c, kept := simulate(t, "link rate=1G delay=5ms queue=3000", "qp qd=1", "load write msg="+msg+" count=1")
		n, wire, ack := 0, vtime.Duration(0), vtime.Duration(0)
		for i := range kept.Records {
			r := &kept.Records[i]
			if d := unit.Gbps.Time(r.WireBytes); r.From == trace.B {
				ack = d
			} else if n++; n > 1 {
				wire += d
			}
		}
		want := int64((wire + ack + 10*vtime.Millisecond) / vtime.Nanosecond)
		if got := c.Summary().FCT; got.Count != 1 || got.P50 < want-1 || got.P50 > want+1 {
			t.Errorf("%s: FCT %d ns of %d messages, want %d ns", msg, got.P50, got.Count, want)
		}
	}
}

// A busy link without loss is full except for headers: every packet of 1024 bytes takes 1106 bytes of the line, and a
// first packet of a message 16 more.
func TestClosedFormOfUtilisation(t *testing.T) {
	c, _ := simulate(t, "link rate=1G delay=1ms queue=3000", "qp qd=64", "load write msg=64KiB", "run for=2s")
	s := c.Summary()
	ceiling := 64. * 1024 / (64*1106 + 16)
	if math.Abs(s.Utilisation/ceiling-1) > 0.002 || s.Retransmitted+s.Lost+s.Spurious != 0 {
		t.Errorf("utilisation %.4f, want %.4f; %d retransmitted", s.Utilisation, ceiling, s.Retransmitted)
	}
	if s.ElapsedNs < 1_999_000_000 || s.ElapsedNs > 2_000_000_000 {
		t.Errorf("a run of 2 s was measured over %d ns", s.ElapsedNs)
	}
}

// Go-back-N retransmits a round trip of packets for a loss in mid-stream, of which all but the lost one had arrived.
// The lost packet is sent again a round trip and a packet time after the loss, when the next packet has drawn a NAK.
func TestClosedFormOfARecovery(t *testing.T) {
	c, _ := simulate(t, "link rate=1G delay=5ms queue=3000", "qp qd=64", "drop A psn=+3000 tx=1",
		"load write msg=64KiB count=200")
	s := c.Summary()
	packet := float64(unit.Gbps.Time(1106)) / 1e12
	if perRTT := 0.010 / packet; s.Lost != 1 || s.Spurious != s.Retransmitted-1 ||
		math.Abs(float64(s.Retransmitted)-perRTT) > 3 {
		t.Errorf("%d lost, %d sent again, %d spurious; want 1, %.0f and one less", s.Lost, s.Retransmitted,
			s.Spurious, perRTT)
	}
	want := 0.015 + 2*packet // one way, back, and one way again
	if r := s.RecoveryNs; r.Count != 1 || math.Abs(float64(r.P50)/1e9-want) > 2*packet {
		t.Errorf("%d recoveries of %d ns, want one of %.9f s", r.Count, r.P50, want)
	}
	if s.PayloadBytes != 200*64*1024 || s.Messages != 200 || s.NAKs != 1 {
		t.Errorf("%d bytes in %d messages, %d NAKs", s.PayloadBytes, s.Messages, s.NAKs)
	}
}

// Whatever the workload and the losses, every byte counts once, and the completions of endpoints are those measured.
func TestEverythingIsDeliveredOnce(t *testing.T) {
	for _, load := range []string{"write", "send", "read", "write-imm"} {
		for _, msg := range []unit.Size{1, 1024, 10_000, 65_536} {
			c, kept := simulate(t, "seed 3", "link rate=1G delay=100us queue=1000", "loss random p=0.01",
				"qp count=3 qd=8 rto=2ms",
				"load "+load+" msg="+msg.String()+" count=40")
			s, completed := c.Summary(), int64(0)
			for i := range kept.Events {
				if kept.Events[i].Kind == trace.CQE {
					completed++
				}
			}
			if s.Messages != 120 || completed != 120 || s.PayloadBytes != 120*int64(msg) {
				t.Errorf("%s of %v: %d messages and %d completions, %d bytes", load, msg, s.Messages,
					completed, s.PayloadBytes)
			}
			sum := int64(0)
			for _, n := range c.Timeline().Bytes {
				sum += n
			}
			if sum != s.PayloadBytes {
				t.Errorf("%s of %v: the timeline has %d bytes of %d", load, msg, sum, s.PayloadBytes)
			}
		}
	}
}
