package device

import (
	"testing"
	"testing/synctest"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/station"
)

// Counters are read until two readings agree; counters that never settle are no evidence.
func TestCountersSettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			says []uint64 // values by reading; after the last one each is larger by step
			step uint64
			want uint64 // 0 for no evidence
		}{
			"at once": {[]uint64{7, 7}, 0, 7},
			"later":   {[]uint64{58, 70, 80, 80}, 0, 80},
			"never":   {[]uint64{1}, 1, 0},
		} {
			n := 0
			read := counted{before: station.Counters{}, read: func() (station.Counters, error) {
				value := c.says[min(n, len(c.says)-1)] + c.step*uint64(n)
				n++
				return station.Counters{"net/rx_packets": value}, nil
			}}
			if err := read.settle(); err != nil {
				t.Fatal(err)
			}
			if read.whole() != (c.want != 0) || read.after["net/rx_packets"] != c.want {
				t.Errorf("%s: %v after %d readings, want %d", name, read.after, n, c.want)
			}
		}
	})
}
