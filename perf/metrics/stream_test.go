package metrics_test

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/rciwarp"
	"github.com/rdma-gauntlet/gauntlet/perf/metrics"
)

// overTCP measures a run of iWARP over TCP and returns the summary and A's variables at the end.
func overTCP(t *testing.T, lines ...string) (metrics.Summary, map[string]int64) {
	t.Helper()
	s := scenario.Default()
	for _, l := range lines {
		if err := s.Line(l); err != nil {
			t.Fatal(err)
		}
	}
	var kept trace.Collector
	im := rciwarp.Implementation()
	w, err := sim.New(s, [2]engine.Implementation{im, im}, sim.Options{Sink: &kept})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Run(); err != nil {
		t.Fatal(err)
	}
	h := w.Header()
	c := metrics.NewCollector(&h, metrics.Options{Rates: [2]unit.Rate{s.Link.AB.Rate, s.Link.BA.Rate}})
	kept.Play(trace.NewTimeline(&h, c))
	vars := map[string]int64{}
	for _, v := range w.Endpoint(trace.A).Vars(0) {
		vars[v.Name] = v.Value
	}
	return c.Summary(), vars
}

// The summary of a lossy run agrees with the sender's counters, and every byte is delivered once.
func TestStreamUnderLoss(t *testing.T) {
	s, vars := overTCP(t, "seed 5", "link rate=1G delay=1ms", "loss random p=1%", "load write msg=20000B count=40",
		"post-read wr=1 len=5000", "qp receives=2")
	if s.Messages != 41 || s.PayloadBytes != 40*20000+5000 {
		t.Errorf("%d messages of %d bytes, want 41 of %d", s.Messages, s.PayloadBytes, 40*20000+5000)
	}
	if s.Retransmitted == 0 || s.Retransmitted < vars["resent"] || s.Lost == 0 || s.RecoveryNs.Count == 0 {
		t.Errorf("%d segments sent again, A says %d; %d lost, %d recovered", s.Retransmitted, vars["resent"], s.Lost,
			s.RecoveryNs.Count)
	}
}

// One WRITE over an idle link: the flow completion time is the wire time of its second segment, the delay of both
// directions, and the wire time of the last ACK.
func TestStreamClosedForm(t *testing.T) {
	s, _ := overTCP(t, "link rate=1G delay=5ms", "param markers=off", "post-write wr=1 len=2880")
	// An FPDU of 1460 bytes holds 1440 of payload, so there are two full segments; time counts from the last bit of the
	// first.
	full, ack := unit.Gbps.Time(1460+78), unit.Gbps.Time(84)
	want := int64((full + ack + 10*vtime.Millisecond) / vtime.Nanosecond)
	if s.Messages != 1 || s.PayloadBytes != 2880 || s.Retransmitted != 0 || s.FCT.P50 < want-1 || s.FCT.P50 > want+1 {
		t.Errorf("%+v, want a flow completion time of %d ns", s.FCT, want)
	}
}
