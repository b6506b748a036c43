package srnic_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/srnic"
	"github.com/rdma-gauntlet/gauntlet/perf/models"
)

// clock holds the time of the last completion.
type clock struct{ last vtime.Time }

func (c *clock) Packet(*trace.Record) {}
func (c *clock) End(vtime.Time)       {}
func (c *clock) Event(e *trace.Event) {
	if e.Kind == trace.CQE {
		c.last = e.At
	}
}

// messages is the number of messages of 8 KiB in a run, as in the paper's test: "a single QP continuously sending 8KB"
// (FaSR V-B).
const messages = 6000

// lasts returns how long the messages take over 100 Gb/s and 6 us when each first transmission is lost with probability
// p. Retransmissions arrive, because a lost one costs a timeout, which the pipeline does not cause.
func lasts(t *testing.T, p float64) float64 {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 0))
	lines := []string{"link rate=100G delay=3us", "qp rto=200us", fmt.Sprintf("load write msg=8KiB count=%d", messages)}
	for psn := range messages * 8 {
		if rng.Float64() < p {
			lines = append(lines, fmt.Sprintf("drop A psn=+%d tx=1", psn))
		}
	}
	s := scenario.Default()
	for _, l := range lines {
		if err := s.Line(l); err != nil {
			t.Fatal(err)
		}
	}
	var c clock
	w, err := sim.New(s, [2]engine.Implementation{srnic.Implementation(), srnic.Implementation()},
		sim.Options{Sink: &c})
	if err == nil {
		err = w.Run()
	}
	if err != nil {
		t.Fatal(err)
	}
	return vtime.Duration(c.last).Seconds()
}

// TestThroughputLoss compares the cost of the stalls with the model, k p Tq / (t + k p Tq), within two points: "a
// single SRNIC connection only reaches about 75% throughput at 1% loss rate" (FaSR I).
func TestThroughputLoss(t *testing.T) {
	packet := unit.Rate(100e9).Time(1106)
	clean := lasts(t, 0)
	for _, p := range []float64{0.001, 0.003, 0.005, 0.01} {
		if testing.Short() && p < 0.01 {
			continue
		}
		got := 1 - clean/lasts(t, p)
		want := models.Stall(p, 2, packet, 1400*vtime.Nanosecond)
		if got < want-0.02 || got > want+0.02 {
			t.Errorf("at a loss of %g the throughput is %.3f less, want %.3f within 0.02", p, got, want)
		}
		t.Logf("loss %g: %.3f, model %.3f", p, got, want)
	}
}
