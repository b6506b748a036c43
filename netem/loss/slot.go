package loss

import "github.com/rdma-gauntlet/gauntlet/harness/vtime"

// epoch is the number of slots after which a chain restarts from a new seed. It bounds the work after an idle time to a
// quarter of a million steps, about two milliseconds. At each restart the chain loses the correlation with earlier
// slots.
const epoch = 1 << 18

// slotted steps a chain once per slot of channel time; all packets of a slot have the same fate. The lost slots depend
// on the seed alone, not on the packets: two transports with the same seed see the same fades.
type slotted struct {
	chain
	slot vtime.Duration // length of a slot; > 0
	seed uint64
	at   int64 // number of the current slot; -1 before the first
	lost bool  // packets of slot at are lost
}

// Lose steps the chain to the slot of now.
func (s *slotted) Lose(now vtime.Time) bool {
	to := int64(now) / int64(s.slot)
	if to > s.at && (s.at < 0 || to/epoch != s.at/epoch) {
		first := to / epoch * epoch
		s.restart(s.seed + uint64(to/epoch)*golden) // far from consecutive seeds, which users choose
		s.at = first - 1
	}
	for s.at < to {
		s.at++
		s.lost = s.chain.Lose(now)
	}
	return s.lost
}
