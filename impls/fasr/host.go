package fasr

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/timer"
)

// Host is what all QPs of an endpoint share: the SR pool, and the memory in which packets wait for their turn.
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

// New builds the two halves of one end of a QP. The parameters are those of the host. The error names the attribute that
// it rejects.
func (h *Host) New(qp engine.QP, mem engine.Memory) (engine.Requester, engine.Responder, error) {
	if err := validate(&qp); err != nil {
		return nil, nil, err
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

// maxDepth bounds every queue of a QP; it is the largest depth that NICs offer, with room to spare.
const maxDepth = 1 << 20

// validate rejects attributes that no QP can have.
func validate(qp *engine.QP) error {
	switch {
	case qp.MTU < 256 || qp.MTU > 4096 || qp.MTU&(qp.MTU-1) != 0:
		return fmt.Errorf("fasr: MTU %d: want 256, 512, 1024, 2048 or 4096", qp.MTU)
	case qp.QPN > psn.Mask || qp.DestQPN > psn.Mask:
		return fmt.Errorf("fasr: QPN %#x or DestQPN %#x: want 24 bits", qp.QPN, qp.DestQPN)
	case qp.SendPSN > psn.Mask || qp.RecvPSN > psn.Mask:
		return fmt.Errorf("fasr: SendPSN %d or RecvPSN %d: want 24 bits", qp.SendPSN, qp.RecvPSN)
	case qp.RetryCount > 7 || qp.RNRRetry > 7:
		return fmt.Errorf("fasr: RetryCount %d or RNRRetry %d: want 0 to 7", qp.RetryCount, qp.RNRRetry)
	case qp.Timeout > 31 || qp.MinRNRTimer > 31 || qp.RTO < 0:
		return fmt.Errorf("fasr: Timeout %d, MinRNRTimer %d, RTO %v: want codes up to 31 and no negative time",
			qp.Timeout, qp.MinRNRTimer, qp.RTO)
	case qp.QueueDepth < 1 || qp.QueueDepth > maxDepth:
		return fmt.Errorf("fasr: QueueDepth %d: want 1 to %d", qp.QueueDepth, maxDepth)
	}
	for _, d := range []struct {
		name string
		n    int
	}{{"ReceiveDepth", qp.ReceiveDepth}, {"MaxRdAtomic", qp.MaxRdAtomic}, {"MaxDestRd", qp.MaxDestRd},
		{"AckReqEvery", qp.AckReqEvery}, {"AckCoalesce", qp.AckCoalesce}} {
		if d.n < 0 || d.n > maxDepth {
			return fmt.Errorf("fasr: %s %d: want 0 to %d", d.name, d.n, maxDepth)
		}
	}
	return nil
}
