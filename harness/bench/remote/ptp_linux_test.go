package remote

import (
	"errors"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/testbed"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// The kernel's stamp is held against that of the hardware, whose clock is elsewhere and drifts. Frames without one do
// not count.
func TestCompareStamps(t *testing.T) {
	const tai = int64(37e9) // by which a PTP clock is ahead
	clock, s := packetio.NewClock(0), stamped{}
	ahead, drift := tai, int64(0)
	p := &ptp{pair: func() (packetio.Paired, error) {
		ahead += drift
		return packetio.Paired{Ahead: ahead, Error: 300}, nil
	}}
	// received is a frame that the kernel has stamped late nanoseconds after the hardware.
	received := func(wall, late int64) packetio.Packet {
		return packetio.Packet{Time: clock.At(wall), Hardware: wall - late + ahead}
	}
	frames := []packetio.Packet{received(1e15, 4_000), received(2e15, 9_000), {Time: clock.At(5)}}
	if err := p.compare(frames, clock, &s); err != nil || s != (stamped{2, 9 * vtime.Microsecond,
		300 * vtime.Nanosecond}) {
		t.Errorf("%+v, %v", s, err)
	}
	drift, p.again = -2_000, 0
	if err := p.compare(nil, clock, &s); err != nil || s.Unsure != 2300*vtime.Nanosecond {
		t.Errorf("after a drift of 2 us: %+v, %v", s, err)
	}
	p.pair, p.again = func() (packetio.Paired, error) { return packetio.Paired{}, errors.New("gone") }, 0
	if err := p.compare(nil, clock, &s); err == nil {
		t.Error("a clock that is gone is no error")
	}
}

// The certificate says which clock the times are of, how far it is behind and how well that is known. Without stamps of
// the hardware it says that nobody knows, and with late ones it is not valid.
func TestTimes(t *testing.T) {
	for _, c := range []struct {
		s         stamped
		ok        bool
		got, told string
	}{
		{stamped{}, true, "the kernel's clock here", "not told how far behind the wire: t1 of this machine: it has none"},
		{stamped{7, 12 * vtime.Microsecond, 800 * vtime.Nanosecond}, true, "at most 12µs behind",
			"by it has none of t1, which stamped 7 frames and is known to ± 800ns"},
		{stamped{7, 6 * vtime.Millisecond, vtime.Microsecond}, false, "at most 6ms behind", "ethtool -C"},
	} {
		cable := &cable{host: &Host{At: testbed.Host{Name: "dut1", Cable: "t1"}}, stamps: "it has none",
			whole: &carried{conduct: conduct{stamped: c.s}}}
		got := cable.times()
		if got.OK != c.ok || got.Got != c.got || !strings.Contains(got.Bound, c.told) {
			t.Errorf("%+v", got)
		}
	}
}
