package channel

import (
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
	"github.com/rdma-gauntlet/gauntlet/netem/loss"
	"github.com/rdma-gauntlet/gauntlet/netem/spec"
	"github.com/rdma-gauntlet/gauntlet/netem/tape"
)

// losses is the loss process of a link. A tape keyed by identity decides by the identity of the packet; every other
// process decides without it.
type losses struct {
	process  loss.Process // nil if identity is not nil
	identity *tape.Player // nil unless the tape is keyed by identity
	sent     fault.Tally  // transmissions counted so far of each packet; used with identity only
}

func newLosses(l spec.Loss, seed uint64) (losses, error) {
	if l.Model == spec.Tape {
		t, err := tape.Open(l.File)
		if err != nil {
			return losses{}, err
		}
		if t.Key == tape.ByIdentity {
			return losses{identity: t.Player()}, nil
		}
		return losses{process: t.Player()}, nil
	}
	p, err := loss.New(l, seed)
	return losses{process: p}, err
}

func (l *losses) lose(now vtime.Time, from fault.Side, id *fault.Identity) bool {
	if l.identity == nil {
		return l.process.Lose(now)
	}
	class := string(id.Class)
	tx := l.sent.Next(from, id.QP, id.PSN, class)
	return l.identity.Lost(tape.ID{QP: id.QP, Offset: id.Offset, Tx: tx, Class: class})
}
