package station

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// stats is what a driver answers: names of a fixed size, and numbers.
func stats(list ...string) (texts, values []byte) {
	for i, name := range list {
		texts = append(texts, append([]byte(name), make([]byte, stringSize-len(name))...)...)
		values = binary.NativeEndian.AppendUint64(values, uint64(i+1))
	}
	return texts, values
}

// Of the counters of a driver those of lost frames are kept, and those that rules read, however each driver names them.
func TestParseStats(t *testing.T) {
	for driver, c := range map[string]struct {
		has  string
		want Counters
	}{
		"mlx5": {"rx_packets rx_packets_phy rx_crc_errors_phy rx_discards_phy ch0_poll rx_pause_ctrl_phy",
			Counters{"ethtool/rx_packets_phy": 2, "ethtool/rx_crc_errors_phy": 3, "ethtool/rx_discards_phy": 4}},
		"ice": {"rx_unicast rx_dropped rx_crc_errors.nic rx_dropped.nic",
			Counters{"ethtool/rx_crc_errors.nic": 3, "ethtool/rx_dropped.nic": 4}},
		"i40e": {"port.rx_crc_errors port.rx_size_64", Counters{"ethtool/port.rx_crc_errors": 1}},
		"bnxt": {"[0]:rx_ucast_packets rx_fcs_err_frames rx_total_frames rx_stat_discard",
			Counters{"ethtool/rx_fcs_err_frames": 2, "ethtool/rx_stat_discard": 4}},
		"virtio_net": {"rx_queue_0_packets rx_queue_0_drops rx1_drops rx_drops rx_queue_0_xdp_drops rx0_xdp_drops",
			Counters{"ethtool/rx_queue_0_drops": 2, "ethtool/rx1_drops": 3}},
		"none of them": {"peer_ifindex", Counters{}},
	} {
		texts, values := stats(strings.Fields(c.has)...)
		if d := cmp.Diff(c.want, parseStats(texts, values, len(values)/8)); d != "" {
			t.Errorf("%s: %s", driver, d)
		}
	}
}

// An answer that is shorter than it says is read as far as it goes, and a name without an end is none of those known.
func TestParseStatsBounds(t *testing.T) {
	texts, values := stats("rx_crc_errors_phy", "rx_discards_phy")
	for n := range texts {
		if got := parseStats(texts[:n:n], values, 1000); len(got) != n/stringSize {
			t.Fatalf("%d bytes of names: %v", n, got)
		}
	}
	for n := range values {
		if got := parseStats(texts, values[:n:n], 1000); len(got) != n/8 {
			t.Fatalf("%d bytes of numbers: %v", n, got)
		}
	}
	if got := parseStats(slices.Repeat([]byte("rx_crc_errors_phy"), 2), values, 1); len(got) != 0 {
		t.Errorf("a name without an end: %v", got)
	}
}

// What grew is named, in order; what stood still, and what a filter counts, is not.
func TestLost(t *testing.T) {
	before := Counters{"net/rx_errors": 5, "ethtool/rx_crc_errors_phy": 1, "net/rx_dropped": 1}
	after := Counters{"net/rx_errors": 7, "ethtool/rx_crc_errors_phy": 3, "ethtool/rx_discards_phy": 0,
		"net/rx_dropped": 9, "net/rx_packets": 3, "hw/rx_errors": 4}
	if got := fmt.Sprint(after.Lost(before)); got != "[ethtool/rx_crc_errors_phy net/rx_errors] 4" {
		t.Error(got)
	}
	if moved, sum := after.Lost(after); moved != nil || sum != 0 {
		t.Error(moved, sum)
	}
}

// The loopback device has counters in /sys, and no driver that has others.
func TestReadCounters(t *testing.T) {
	c := ReadCounters("none", 1, "lo")
	if _, ok := c["net/rx_packets"]; !ok {
		t.Errorf("%v", c)
	}
	if c := ReadCounters("none", 1, "no such device"); len(c) != 0 {
		t.Errorf("%v", c)
	}
}
