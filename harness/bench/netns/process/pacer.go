package process

import (
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// pacer lets packets out at the line rate, as the port of a NIC does. A loop that woke up late may catch up by a few
// packets, or a thread that sleeps in whole scheduling slots would never fill the line; what begins after a rest begins at
// the line rate.
type pacer struct {
	rate   unit.Rate
	free   vtime.Time
	credit vtime.Duration
	rested bool
}

// catchUp bounds the burst after a late wake-up: 32 packets of 1 KiB, and no more than a millisecond.
const catchUp = 32 * 1106

func newPacer(rate unit.Rate) pacer {
	return pacer{rate: rate, credit: min(rate.Time(catchUp), vtime.Millisecond)}
}

func (p *pacer) ready(now vtime.Time) bool { return p.free <= now }

// rest says that there was nothing to send.
func (p *pacer) rest() { p.rested = true }

// spend takes the line for a packet of so many layer-1 bytes.
func (p *pacer) spend(now vtime.Time, wireBytes int) {
	earliest := now.Add(-p.credit)
	if p.rested {
		earliest = now
	}
	p.free, p.rested = max(p.free, earliest).Add(p.rate.Time(wireBytes)), false
}
