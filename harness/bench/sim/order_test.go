package sim_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/engine/tamper"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
)

// inbox holds the frames that each side received, in order; as a Viewer, those that rules see.
type inbox [2][]string

func (b *inbox) Sight(s *trace.Sight) {
	switch frame := string(s.Raw); {
	case s.Out:
	case s.Rec.Copy && !slices.Contains(b[s.Tap], frame):
		b[s.Tap] = append(b[s.Tap], "a copy before its original")
	default:
		b[s.Tap] = append(b[s.Tap], frame)
	}
}
func (*inbox) Event(*trace.Event) {}
func (*inbox) End(vtime.Time)     {}

// listener is go-back-N that records the frames that its side is handed.
func (b *inbox) listener(side trace.Side) engine.Implementation {
	return tamper.Around(gbn.Implementation(), tamper.Frames{In: func(frame []byte) []byte {
		b[side] = append(b[side], string(frame))
		return frame
	}})
}

// Rules see packets in the order in which the endpoints are handed them, also at equal times: a copy takes as long on
// the line as the next packet, and without a rate all packets arrive at once. Not checked are equal times with
// overtaking packets, where the trace does not tell which packet left before the original of a copy.
func TestOrderOfArrivals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := []string{
			rapid.SampledFrom([]string{"link rate=0 delay=0", "link rate=0 delay=5us", "link rate=100G delay=0",
				"link rate=100G delay=5us"}).
				Draw(t, "link") + rapid.SampledFrom([]string{" duplicate=10%", " duplicate=60%"}).Draw(t, "duplicate"),
			rapid.SampledFrom([]string{"loss none", "loss random p=1%"}).Draw(t, "loss"),
			rapid.SampledFrom([]string{"dup A nth=3 count=4 copies=2", "dup B nth=2 count=*", "dup A count=* by=1us",
				"reorder A nth=4 behind=3"}).Draw(t, "fault"),
			rapid.SampledFrom([]string{"load write msg=5000 count=9", "load read msg=9000 count=3",
				"load send msg=256 count=20 from=B"}).Draw(t, "load"),
			rapid.SampledFrom([]string{"load write msg=30000 count=1", "load send msg=64 count=30",
				"load read msg=3000 count=5 from=B"}).Draw(t, "load"),
			"qp mtu=1024 rto=100us ackreq=0", "run limit=1s",
		}
		s := spec(t, lines...)
		s.Seed = rapid.Uint64().Draw(t, "seed")
		var handed, seen inbox
		view := trace.NewTimeline(&trace.Header{Taps: [2]bool{true, true}}, &seen)
		w, err := sim.New(s, [2]engine.Implementation{handed.listener(trace.A), handed.listener(trace.B)},
			sim.Options{Bytes: true, Sink: view})
		if err != nil {
			t.Fatalf("%v", err)
		}
		if err := w.Run(); err != nil {
			t.Fatalf("%v", err)
		}
		for side := range seen {
			if !slices.Equal(seen[side], handed[side]) {
				t.Fatalf("%q: %s is handed %d frames and the trace shows %d, in another order", lines, trace.Side(side),
					len(handed[side]), len(seen[side]))
			}
		}
	})
}
