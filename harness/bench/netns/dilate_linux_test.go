package netns

import (
	"errors"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/device"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/measure"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// An implementation that keeps the machine's time is refused above a factor of 1, with the reason; one that keeps the
// run's time is not.
func TestWhatCannotBeDilated(t *testing.T) {
	mine := func(features ...string) [2]engine.Implementation {
		return [2]engine.Implementation{{Name: "exec:./mine", Features: features}, {Name: "gbn"}}
	}
	for _, c := range []struct {
		spec, want string // "" for accepted
		impls      [2]engine.Implementation
		device     *device.Device
	}{
		{"load write msg=1KiB count=1", "", [2]engine.Implementation{{Name: "gbn"}, {Name: "gbn"}}, nil},
		{"load write msg=1KiB count=1", "a device keeps the machine's time",
			[2]engine.Implementation{{Name: "gbn"}, {Name: "rxe"}}, &device.Device{}},
		{"load write msg=1KiB count=1", "", mine(), nil},
		{"load write msg=1KiB count=1", "does not declare dilate", mine("spec"), nil},
		{"load write msg=1KiB count=1", "", mine("spec", "dilate"), nil},
		{"load send msg=1KiB count=1", "", mine(), nil},
		{"load send msg=1KiB count=1", "after a fixed time", mine("unreliable"), nil},
		{"load send msg=1KiB count=1", "", mine("unreliable", "dilate"), nil},
		{"qp receives=1 replenish=0\nload send msg=1KiB count=9", "RNR NAKs", mine(), nil},
		{"qp receives=1 replenish=0\nload send msg=1KiB count=9", "", mine("dilate"), nil},
	} {
		s, err := scenario.Parse(strings.NewReader("impl " + c.impls[0].Name + " gbn\n" + c.spec + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		b, job := &Bench{Device: c.device}, &bench.Job{Spec: s, Impls: c.impls, Dilation: 8}
		err = b.dilatable(job)
		if refused := err != nil; refused != (c.want != "") ||
			refused && (!errors.Is(err, bench.ErrUnsupported) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q, %v: %v; want %q", c.spec, c.impls[0].Features, err, c.want)
		}
		if job.Dilation = 1; b.dilatable(job) != nil {
			t.Errorf("%q: a factor of 1 is refused", c.spec)
		}
	}
	if err := (&Bench{}).dilatable(&bench.Job{Dilation: 3}); err == nil {
		t.Error("a factor of 3 is taken")
	}
}

// The factor is the smallest power of two that gives time for all packets and for the longest wait.
func TestExpectedDilation(t *testing.T) {
	for _, c := range []struct {
		carries, packets float64
		late             vtime.Duration
		want             vtime.Dilation
	}{
		{50e3, 11e3, 100 * vtime.Microsecond, 1}, {50e3, 26e3, 0, 2}, {50e3, 1.13e6, 0, 64}, {50e3, 0, 0, 1},
		{50e3, 11e3, 6 * vtime.Millisecond, 4}, {50e3, 11e3, vtime.Second, 512}, {0, 1, 0, 1024}, {1, 1e9, 0, 1024},
	} {
		if k, why := expected(measure.Host{Packets: c.carries, Late: c.late}, c.packets); k != c.want || why == "" {
			t.Errorf("%+v: %s, %s", c, k, why)
		}
	}
}

// The demand is the rate of the line in packets, or the packets that the queue depths allow per round trip.
func TestDemand(t *testing.T) {
	for text, want := range map[string]float64{
		"link rate=10G delay=20ms\nload write msg=1MiB count=1":           1.121e6,
		"link rate=10G delay=20ms\nqp qd=4\nload write msg=64KiB count=1": 4 * 64 / 0.040,
		"link rate=0 delay=20ms\nload write msg=64KiB count=1":            0,
	} {
		s, err := scenario.Parse(strings.NewReader(text + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		var impls [2]engine.Implementation
		for _, answers := range []float64{1, 2} {
			if got := demand(s, impls); got < 0.99*answers*want || got > 1.01*answers*want {
				t.Errorf("%q: %.4g packets in a second, want %.4g", text, got, answers*want)
			}
			impls[1].Features = []string{"sr"}
		}
	}
}
