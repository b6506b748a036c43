package channel

import (
	"github.com/rdma-gauntlet/gauntlet/netem/loss"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
)

// Losses returns the loss process of a channel with that link and seed, for who has to lose the same packets by their
// number. A tape that is keyed by identity has none.
func Losses(l spec.Link, seed uint64) (loss.Process, error) {
	return loss.New(l.Loss, newDraws(l, seed).lossSeed)
}
