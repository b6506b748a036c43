package lowar

import (
	"math/bits"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// The controller of adaptive. "When packet loss worsens or alleviates, the receiver prompts the sender … for more
// proper redundancy rates or interleaving depths" (IV-C); the paper does not say how the receiver finds them.
//
// Depth. c is the longest burst seen, rounded up to a power of two. It shrinks slowly, because bursts are rare.
//
// Rate. A unit of m packets costs 1/m of the link, and fails when two of its packets are lost: about (mp)²/2 for a loss
// rate p, which costs go-back-N bdp packets per m. The sum 1/m + bdp·m·p²/2 is least where m²·p²·bdp = 2. So m is the
// largest power of two up to 64 that keeps m²·p²·bdp at or below 2, but at least 2, and r is m·c.
const (
	memory   = 8  // windows over which the loss rate is averaged, and after which the depth shrinks
	largestM = 64 // packets of a unit, without loss
	deepest  = 16 // largest c
	part     = 64 // units per packet of the decaying sums, so that integer division does not lose a single loss
)

// report holds the loss statistics of a decoder, from which it computes its FEEDBACK.
type report struct {
	on     bool   // reports are sent (parameter adaptive)
	bdp    int    // packets that one go-back-N wastes
	window uint32 // data packets between two reports

	// Counted since the last report: packets of the blocks that ended, those of them that did not arrive, packets
	// recovered, and the longest burst of losses, in packets.
	seen, lost, recovered uint32
	burst                 int

	total, missed uint64 // decaying sums of seen and lost, in 1/part packets
	depth         int    // longest burst, halved after memory windows without one that long
	quiet         int    // consecutive windows with shorter bursts than depth
	due           bool   // a FEEDBACK waits for the link
}

// saw counts the n packets of a block that has ended; lost marks the packets that did not arrive.
func (r *report) saw(n int, lost *bitmap) {
	r.seen += uint32(n)
	run, all := 0, 0
	for i := range n {
		if !lost.has(i) {
			run = 0
			continue
		}
		run, all = run+1, all+1
		r.burst = max(r.burst, run)
	}
	r.lost += uint32(all)
	r.due = r.due || r.on && r.seen >= r.window
}

// wanted ends a window and returns the parameters for the losses measured so far.
func (r *report) wanted() code {
	r.total += part*uint64(r.seen) - r.total/memory
	r.missed += part*uint64(r.lost) - r.missed/memory
	switch {
	case r.burst >= r.depth:
		r.depth, r.quiet = max(1, r.burst), 0
	case r.quiet == memory:
		r.depth, r.quiet = max(1, r.depth/2), 0
	default:
		r.quiet++
	}
	c := min(1<<bits.Len(uint(r.depth-1)), deepest)
	m, p := largestM, float64(r.missed)/float64(max(1, r.total))
	for m > 2 && float64(m*m)*p*p*float64(r.bdp) > 2 {
		m /= 2
	}
	return code{r: m * c, c: c}
}

// feedback returns the FEEDBACK packet of the current window, and begins the next window.
func (r *report) feedback(destQP uint32, k bool) roce.Packet {
	want := r.wanted()
	h := roce.Repair{Type: roce.RepairFeedback, Version: roce.RepairVersion, Responses: k,
		R: uint16(want.r), C: uint8(want.c),
		Lost: r.lost, Recovered: r.recovered, Unrecoverable: r.lost - r.recovered}
	r.seen, r.lost, r.recovered, r.burst, r.due = 0, 0, 0, 0, false
	return roce.Packet{BTH: roce.BTH{Opcode: roce.LoWAR, DestQP: destQP}, Repair: h}
}

// feedback processes a FEEDBACK of the peer. Its parameters take effect with the next block.
func (e *encoder) feedback(h *roce.Repair) {
	k := code{int(h.R), int(h.C)}
	if !e.host.cfg.adaptive || h.Version != roce.RepairVersion || !k.valid() || k.c > e.host.cfg.units {
		return
	}
	e.want = k
}

// changes reports whether the next packet begins a block with new parameters.
func (e *encoder) changes() bool { return e.n == 0 && e.want != e.code }

// change applies the wanted parameters to the block that begins at first, and returns their announcement. "the
// sender synchronizes the redundancy rate and interleaving depth to the receiver to adjust coding units for decoding"
// (IV-C)
func (e *encoder) change(first psn.PSN) roce.Packet {
	e.code = e.want
	e.epoch++
	return roce.Packet{BTH: roce.BTH{Opcode: roce.LoWAR, DestQP: e.destQP},
		Repair: roce.Repair{Type: roce.RepairAnnounce,
			Version: roce.RepairVersion, Responses: e.k, C: uint8(e.code.c), R: uint16(e.code.r),
			Epoch: e.epoch, Base: first}}
}
