package targets

import (
	"fmt"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/perf/models"
)

const huang = "FaSR (Huang et al.) "

// fabric is the testbed: 100 Gb/s, a round trip of about 6 us, one QP with 8 KB messages, a switch that drops. The
// timer is three round trips; the windows are the 500 packets for which the paper sizes its bitmaps, seven times the
// product.
func fabric(scheme string, p float64, more ...string) string {
	lines := append([]string{scheme, "link rate=100G delay=3us " + deep, lossy("A>B", p), "qp qd=64 rto=18us",
		"load write msg=8KiB", "run for=40ms"}, more...)
	return scene(lines...)
}

// The selective schemes of these rows. The SRNIC never drops packets that wait for its pipeline, as if a NIC that falls
// behind paused its switch: 5000 queues of two messages have 80 000 packets in flight, and nearly all of them end up
// there.
const (
	withFaSR  = "impl fasr\nparam window=500"
	withIRN   = "impl irn\nparam cap=500"
	withSRNIC = "impl srnic\nparam cap=500 queries=2 tq=1400ns buffer=131072"
)

// crowd returns the parameters of many QPs with queues of few messages, 64 in total and at least two each. Up to 80 000
// packets then wait for the line, so that a message of one of 5000 QPs takes 3.5 ms; the timer exceeds three times
// that.
func crowd(qps int) string { return fmt.Sprintf("qp count=%d qd=%d rto=12ms", qps, max(2, 64/qps)) }

// shared is the testbed with many QPs, whose number determines their queues. Messages that are not acknowledged at the
// end do not count, thousands of them with thousands of QPs, so these runs are longer.
func shared(scheme string, p, qps float64) string {
	length := "run for=20ms"
	if qps > 1000 {
		length = "run for=80ms"
	}
	return fabric(scheme, p, crowd(int(qps)), length)
}

// The time of a packet on the line of the testbed, and the product in packets.
var (
	fabricPacket  = (100 * g1).Time(packet)
	fabricProduct = models.BDP(6*us, 100*g1, packet)
)

// query is the time that a NIC waits for a bitmap in host memory (II-A).
const query = 1400 * us / 1000

// pool270 is the number of blocks of the simulated pool: 10 bits and a pointer of one byte each, in 270 bytes.
const pool270 = 270 * 8 / (10 + 8)

// pool is the link of the simulation: 100 Gb/s, 40 us, n QPs with windows of window packets, and so many blocks that
// none is refused, to see how many are used.
func pool(n, window int, p float64) string {
	return scene(fmt.Sprintf("impl fasr\nparam window=%d blocks=4096 units=255", window), "link rate=100G delay=20us "+
		deep, lossy("A>B", p),
		fmt.Sprintf("qp count=%d qd=%d rto=400us", n, max(2, 128/n)), "load write msg=8KiB", "run for=20ms")
}

// faSR returns the claims of the FaSR paper.
func faSR() []Target { return slices.Concat(fasrRecovery, fasrState, fasrRest) }
