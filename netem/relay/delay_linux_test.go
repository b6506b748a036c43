//go:build netns

package relay_test

import (
	"slices"
	"testing"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/topology"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
	"github.com/rdma-gauntlet/gauntlet/netem/relay"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

func TestDelayOverVeth(t *testing.T) {
	r := newRig(t)
	const want = 5 * vtime.Millisecond
	link := spec.Link{Rate: 1e9, Delay: want, Queue: 1000}
	remote, cmd := r.process(t, relay.Setup{
		Timebase: packetio.Timebase{Start: r.start}, A: topology.PortA, B: topology.PortB,
		Link: spec.Duplex{AB: link, BA: link}, Realtime: true,
	})
	go r.pace(t, 4000, 1066, 100*vtime.Microsecond)
	got := r.collect(t, r.b, 4000, 3*time.Second)
	stats, err := remote.Stats()
	if err != nil {
		t.Fatal(err)
	}
	remote.Close()
	cmd.Wait()
	if len(got) != 4000 || reordered(got) != 0 {
		t.Errorf("%d of 4000 frames, %d reordered", len(got), reordered(got))
	}
	p50, p99 := delays(got)
	t.Logf("delay error p50 %s p99 %s; departure lateness %+v, real-time %v", (p50 - want).Std(), (p99 - want).Std(),
		stats.Lateness, stats.Realtime)
	if e := p50 - want; e < 0 || e > 500*vtime.Microsecond {
		t.Errorf("delay p50 is off by %s, want 0 to 500us", e.Std())
	}
	if stats.AB.Received != 4000 || stats.AB.Forwarded != 4000 || stats.AB.KernelDrops != 0 || stats.BA.Received != 0 {
		t.Errorf("stats %+v", stats)
	}
}

// delays returns the median and the 99th percentile of the one-way delays.
func delays(got []arrival) (p50, p99 vtime.Duration) {
	var d []vtime.Duration
	for _, a := range got {
		d = append(d, a.delay)
	}
	slices.Sort(d)
	return d[len(d)/2], d[len(d)*99/100]
}
