package station

import (
	"maps"
	"slices"
	"strings"
)

// lost names the counters of frames that a port has dropped or found damaged, in either direction. A driver gives those
// of the wire names of its own; without them the kernel's sums remain. The counters of frames that a filter has
// refused, such as rx_dropped, are not among them: such frames are of others.
//
// Sources: networking/statistics.rst of Linux, and the names in its drivers mlx5 (counters.rst), ice, i40e and bnxt.
var lost = names("net/", "rx_errors rx_crc_errors rx_missed_errors rx_fifo_errors tx_errors tx_dropped tx_fifo_errors",
	"ethtool/", "rx_crc_errors_phy rx_symbol_err_phy rx_in_range_len_errors_phy rx_out_of_range_len_phy "+
		"rx_oversize_pkts_phy rx_undersize_pkts_phy rx_fragments_phy rx_jabbers_phy rx_discards_phy tx_discards_phy "+
		"tx_errors_phy rx_out_of_buffer",
	"ethtool/", "rx_crc_errors.nic illegal_bytes.nic rx_undersize.nic rx_oversize.nic rx_fragments.nic rx_jabber.nic "+
		"rx_dropped.nic tx_dropped_link_down.nic",
	"ethtool/", "port.rx_crc_errors port.illegal_bytes port.rx_undersize port.rx_oversize port.rx_fragments "+
		"port.rx_jabber port.rx_dropped port.rx_discards port.tx_errors port.tx_dropped_link_down",
	"ethtool/", "rx_fcs_err_frames rx_align_err_frames rx_ovrsz_frames rx_jbr_frames rx_mtu_err_frames "+
		"rx_undrsz_frames rx_runt_frames rx_stat_discard rx_stat_err tx_err tx_fifo_underruns tx_stat_discard "+
		"tx_stat_error")

// told names the counters of drivers that rules read.
var told = names("ethtool/", "tx_packets_phy rx_packets_phy")

// names makes a set of pairs of a prefix and a list.
func names(pairs ...string) map[string]bool {
	set := map[string]bool{}
	for i := 0; i < len(pairs); i += 2 {
		for name := range strings.FieldsSeq(pairs[i+1]) {
			set[pairs[i]+name] = true
		}
	}
	return set
}

// isLost reports whether a counter is of frames that were dropped or damaged. Drivers that number their queues, such as
// virtio_net, have one for each: "rx_queue_0_drops", and "rx0_drops" since Linux 6.5.
func isLost(name string) bool {
	if lost[name] {
		return true
	}
	queue, ok := strings.CutPrefix(name, "ethtool/rx")
	if queue, more := strings.CutSuffix(queue, "_drops"); ok && more {
		queue = strings.TrimPrefix(queue, "_queue_")
		return queue != "" && strings.Trim(queue, "0123456789") == ""
	}
	return false
}

// Lost returns the names of the counters of dropped and damaged frames that are higher here than in before, sorted, and
// by how much all of them together. The same frame may be in several of them.
func (c Counters) Lost(before Counters) (moved []string, sum uint64) {
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if n := c[name] - before[name]; n != 0 && isLost(name) {
			moved = append(moved, name)
			sum += n
		}
	}
	return moved, sum
}
