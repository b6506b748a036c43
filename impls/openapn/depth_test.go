package openapn

import (
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

func TestFrame(t *testing.T) {
	for _, tc := range []struct {
		message uint32
		mtu     int
		want    int
	}{{4096, 4096, 4178}, {1024, 1024, 1106}, {0, 1024, 82}, {4097, 4096, 4097 + 2*82},
		{64 << 10, 4096, 64<<10 + 16*82}} {
		if got := Frame(tc.message, tc.mtu); got != tc.want {
			t.Errorf("Frame(%d, %d) = %d, want %d", tc.message, tc.mtu, got, tc.want)
		}
	}
}

func TestDepthOf(t *testing.T) {
	for _, tc := range []struct {
		rtt               vtime.Duration
		rate              unit.Rate
		frame             int
		floor, ceil, busy int
	}{
		{vtime.Millisecond, 100 * unit.Gbps, 4178, 2991, 2992, 2993}, // "about 2991" (NTT 4.1)
		{100 * vtime.Microsecond, 100 * unit.Gbps, 4178, 299, 300, 301},
		{10 * vtime.Millisecond, 100 * unit.Gbps, 4178, 29918, 29919, 29920},
		{8 * vtime.Microsecond, unit.Gbps, 1000, 1, 1, 3},           // an integer: both are the same
		{10 * vtime.Millisecond, 100 * unit.Gbps, 1 << 30, 0, 1, 2}, // the longest message
		{vtime.Second, 400 * unit.Gbps, 4 << 20, 11920, 11921, 11922},
		{vtime.Nanosecond, unit.Mbps, 9000, 0, 1, 2},
		{86400 * vtime.Second, 1, 10800, 1, 1, 3},
		{vtime.Millisecond, unit.Gbps, 82, 1524, 1525, 1527}, // an answer is longer than a message
	} {
		got, err := DepthOf(tc.rtt, tc.rate, tc.frame)
		if err != nil || got != (Depth{tc.floor, tc.ceil, tc.busy}) {
			t.Errorf("DepthOf(%v, %v, %d) = %v, %v; want %d, %d and %d", tc.rtt, tc.rate, tc.frame, got, err,
				tc.floor, tc.ceil, tc.busy)
		}
	}
}

func TestDepthOfRejects(t *testing.T) {
	for _, tc := range []struct {
		rtt   vtime.Duration
		rate  unit.Rate
		frame int
		want  string
	}{
		{0, unit.Gbps, 100, "RTT"}, {-1, unit.Gbps, 100, "RTT"},
		{1, 0, 100, "rate"}, {1, -unit.Gbps, 100, "rate"},
		{1, unit.Gbps, 0, "frame"}, {1, unit.Gbps, -5, "frame"},
		{1e6 * vtime.Second, 1000 * unit.Gbps, 64, "2^31"},
		{vtime.Second, unit.Gbps, 1 << 62, "2^31"},
	} {
		if _, err := DepthOf(tc.rtt, tc.rate, tc.frame); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("DepthOf(%v, %v, %d): %v, want an error about %s", tc.rtt, tc.rate, tc.frame, err, tc.want)
		}
	}
}

// TestThroughput compares with the paper's Fig. 3 for a standard queue, in which 90 messages of 4 KiB are in flight,
// and with the limit of the line.
func TestThroughput(t *testing.T) {
	for _, tc := range []struct {
		depth int
		rtt   vtime.Duration
		gbps  float64
	}{
		{90, vtime.Millisecond, 2.95}, {90, 10 * vtime.Millisecond, 0.295}, {100, vtime.Millisecond, 3.276},
		{2992, vtime.Millisecond, 98.04}, {1 << 20, vtime.Millisecond, 98.04},
	} {
		got := float64(Throughput(tc.depth, tc.rtt, 100*unit.Gbps, 4096, 4096)) / float64(unit.Gbps)
		if got < 0.999*tc.gbps || got > 1.001*tc.gbps {
			t.Errorf("Throughput(%d, %v) = %.3f Gb/s, want %.3f", tc.depth, tc.rtt, got, tc.gbps)
		}
	}
}

func TestMemory(t *testing.T) {
	ring, receives := Memory(2992, 4096)
	if ring != 191488 || receives != 2992*(16+4096) {
		t.Errorf("Memory = %d and %d", ring, receives)
	}
}
