package netns

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/netns/device"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// The limit of a device ends a run in which nothing new is done, and not one that is slow; other limits are kept.
func TestLimit(t *testing.T) {
	const second, longest = vtime.Time(vtime.Second), vtime.Time(dut.Longest)
	dev := &device.Tools{}
	for _, c := range []struct {
		what       string
		devices    *device.Tools
		limit      vtime.Duration
		fixed      vtime.Duration // Spec.For
		ahead, now vtime.Time
		cut        vtime.Time
		over       bool
	}{
		{"before the limit", dev, dut.Longest, 0, 0, longest - second, longest, false},
		{"it never got ahead", dev, dut.Longest, 0, 0, longest, longest, true},
		{"it got ahead at first alone", dev, dut.Longest, 0, second, longest + 1, longest, true},
		{"it gets ahead", dev, dut.Longest, 0, longest - 1, longest + 1, extension * longest, false},
		{"it gets ahead after the limit", dev, dut.Longest, 0, 3 * longest, 3*longest + 1, extension * longest, false},
		{"it got ahead until after the limit", dev, dut.Longest, 0, 3 * longest, 4 * longest, 4 * longest, true},
		{"for ever", dev, dut.Longest, 0, extension * longest, extension*longest + 1, extension * longest, true},
		{"less was given", dev, dut.Longest / 2, 0, longest/2 - 1, longest / 2, longest / 2, true},
		{"a fixed duration", dev, dut.Longest, vtime.Second, second - 1, second, second, true},
		{"no device", nil, dut.Longest, 0, longest - 1, longest, longest, true},
	} {
		tr := &traffic{spec: &scenario.Spec{Limit: c.limit, For: c.fixed}, devices: c.devices,
			clock: packetio.NewClock(0), patience: 10 * vtime.Second, moved: moved{ahead: c.ahead}}
		if cut, over := tr.limited(c.now); over != c.over || over && cut != c.cut {
			t.Errorf("%s: over is %t at %d, want %t at %d", c.what, over, cut, c.over, c.cut)
		}
	}
}

// A device that only repeats itself, or in whose run nothing moves, is to blame for the end of the run; one whose work
// went on until then is not.
func TestLimitBlames(t *testing.T) {
	end, dev := 200*vtime.Time(vtime.Second), &device.Tools{}
	for _, c := range []struct {
		devices *device.Tools
		cause   error
		ahead   vtime.Time
		want    bool
	}{
		{dev, errLimit, 0, false},
		{dev, errLimit, end / 2, false},
		{dev, errLimit, end - 1, true},
		{dev, errStill, end - 1, false},
		{nil, errLimit, end - 1, false},
	} {
		tr := &traffic{devices: c.devices, at: &span{cut: end}, patience: 10 * vtime.Second, moved: moved{ahead: c.ahead}}
		if got := tr.excused(c.cause); got != c.want {
			t.Errorf("%v, ahead at %d: %t, want %t", c.cause, c.ahead, got, c.want)
		}
	}
}
