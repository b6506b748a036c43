package process

import (
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// pacer releases packets at the line rate, as the port of a NIC does. A loop that woke up late may catch up by a few
// packets, or a thread that sleeps in whole scheduling slots would never fill the line; after a rest, sending begins at
// the line rate.
type pacer struct {
	rate   unit.Rate
	free   vtime.Time
	credit vtime.Duration
	rested bool

	// starved is the time for which the line was free although there was something to send, because the loop waited for
	// a processor. This time is lost.
	starved vtime.Duration
}

// catchUp bounds the burst after a late wake-up: 32 packets of 1 KiB, and no more than a millisecond.
const catchUp = 32 * 1106

func newPacer(rate unit.Rate) pacer {
	return pacer{rate: rate, credit: min(rate.Time(catchUp), vtime.Millisecond)}
}

func (p *pacer) ready(now vtime.Time) bool { return p.free <= now }

// rest records that there was nothing to send.
func (p *pacer) rest() { p.rested = true }

// spend occupies the line for a packet of wireBytes layer-1 bytes. After a rest the packet could have been sent since
// its cause: the arrival of a frame, or the end of a timer.
func (p *pacer) spend(now, cause vtime.Time, wireBytes int) {
	earliest := now.Add(-p.credit)
	if p.rested {
		earliest, p.free = now, max(p.free, cause)
	}
	if p.free < earliest {
		p.starved += earliest.Sub(p.free)
		p.free = earliest
	}
	p.free, p.rested = p.free.Add(p.rate.Time(wireBytes)), false
}
