package remote

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/certify"
	"github.com/rdma-gauntlet/gauntlet/netem/packetio"
)

// stamped says how far the kernel's stamps of frames, which are the times of the captures, were from those that the
// hardware of the port gave to the same frames.
type stamped struct {
	Stamped uint64         `json:"stamped,omitempty"` // frames with both
	Behind  vtime.Duration `json:"behind,omitempty"`  // the most by which the kernel's was the later
	Unsure  vtime.Duration `json:"unsure,omitempty"`  // by which Behind may be wrong
}

// ptp is the PTP clock of the near port, paired with the wall clock again and again.
type ptp struct {
	pair   func() (packetio.Paired, error)
	latest packetio.Paired
	again  vtime.Time // time of the next pairing
	begun  bool
}

// pairEvery is the time between two pairings, in which a free clock goes wrong by some microseconds.
const pairEvery = 100 * vtime.Millisecond

// openPTP opens a clock. It is closed with the process.
func openPTP(index int) (*ptp, error) {
	c, err := packetio.OpenHardwareClock(index)
	if err != nil {
		return nil, err
	}
	return &ptp{pair: c.Pair}, nil
}

// compare holds the kernel's stamps of received frames against those of the hardware.
func (p *ptp) compare(frames []packetio.Packet, clock *packetio.Clock, s *stamped) error {
	if now := clock.Now(); !p.begun || now >= p.again {
		next, err := p.pair()
		if err != nil {
			return err
		}
		drift := next.Ahead - p.latest.Ahead
		if !p.begun {
			drift = 0
		}
		s.Unsure = max(s.Unsure, vtime.Duration(max(drift, -drift)+next.Error)*vtime.Nanosecond)
		p.latest, p.begun, p.again = next, true, now.Add(pairEvery)
	}
	for i := range frames {
		if at := frames[i].Hardware; at != 0 {
			s.Stamped++
			s.Behind = max(s.Behind, frames[i].Time.Sub(clock.At(p.latest.Wall(at))))
		}
	}
	return nil
}

// times says by which clock the captures' times are, and how wrong they may be: where the hardware stamps frames too,
// by how much the kernel's stamp of a frame from the device was the later.
func (c *cable) times() certify.Item {
	item := certify.Item{Name: "cable of " + c.host.At.Name + " times", Want: "the kernel's clock here, at most " +
		mostLate.String() + " behind the wire", Property: validity.Lateness | validity.Clock}
	w := c.whole
	if w.Stamped == 0 {
		item.Got, item.OK = "the kernel's clock here", true
		item.Bound = fmt.Sprintf("not told how far behind the wire: %s of this machine: %s", c.host.At.Cable, c.stamps)
		return item
	}
	item.Got = fmt.Sprintf("at most %s behind", max(0, w.Behind).Std())
	item.Bound = fmt.Sprintf("by %s of %s, which stamped %d frames and is known to ± %s; leave more processor time to "+
		"this machine, or lower the coalescing of interrupts by ethtool -C", c.stamps, c.host.At.Cable, w.Stamped,
		w.Unsure.Std())
	item.OK = w.Behind <= mostLate
	return item
}
