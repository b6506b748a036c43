package fasr

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/timer"
)

// Host is the state that all QPs of an endpoint share: the SR pool, and the memory for out-of-order packets.
type Host struct {
	cfg   config
	pool  *pool
	shelf shelf
}

// NewHost makes the shared part of one endpoint. The error names the parameter that it rejects.
func NewHost(given engine.Params) (*Host, error) {
	cfg, err := parse(given)
	if err != nil {
		return nil, err
	}
	return &Host{cfg: cfg, pool: newPool(cfg.pool)}, nil
}

// New builds the two halves of one end of a QP. The parameters are those of the host. The error names the attribute
// that it rejects.
func (h *Host) New(qp engine.QP, mem engine.Memory) (engine.Requester, engine.Responder, error) {
	if err := rc.CheckQP(&qp); err != nil {
		return nil, nil, fmt.Errorf("fasr: %w", err)
	}
	qp.RTO = h.cfg.rto(&qp)
	q := &nic{host: h}
	return newRequester(qp, q, mem), newResponder(qp, q, mem), nil
}

// newSender makes a sender whose first PSN is first.
func (q *nic) newSender(r role, first psn.PSN) sender {
	return sender{nic: q, role: r, cfg: &q.host.cfg, window: q.host.cfg.window, unack: first, next: first, fnack: true}
}

// newReceiver makes a receiver whose first PSN is first.
func (q *nic) newReceiver(r role, first psn.PSN) receiver {
	return receiver{nic: q, role: r, window: q.host.cfg.window, next: first}
}

func (q *nic) newAnswers() answers {
	return answers{limit: q.host.cfg.window, timer: timer.Timer{Period: q.host.cfg.ackDelay}}
}

func (q *nic) newStore() store { return store{shelf: &q.host.shelf} }
