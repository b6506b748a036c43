package loss

import "github.com/rdma-gauntlet/gauntlet/harness/vtime"

// epoch is how many slots a chain runs before it starts afresh from a new seed. It bounds the work after an idle time:
// a quarter of a million steps, about two milliseconds. The price is one cut correlation per epoch.
const epoch = 1 << 18

// slotted moves a chain once per slot of channel time and gives every packet of a slot the same fate. Which slots are
// lost depends on the seed alone, never on the packets: two transports on the same seed meet the same fades.
type slotted struct {
	chain
	slot vtime.Duration
	seed uint64
	at   int64 // the slot that lost belongs to, -1 before the first
	lost bool
}

// Lose steps the chain to the slot of now.
func (s *slotted) Lose(now vtime.Time) bool {
	to := int64(now) / int64(s.slot)
	if to > s.at && (s.at < 0 || to/epoch != s.at/epoch) {
		first := to / epoch * epoch
		s.restart(s.seed + uint64(to/epoch)*golden) // far from the seeds that a user counts through
		s.at = first - 1
	}
	for s.at < to {
		s.at++
		s.lost = s.chain.Lose(now)
	}
	return s.lost
}
