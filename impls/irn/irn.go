package irn

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
)

// Implementation returns the entry of the registry.
func Implementation() engine.Implementation {
	return engine.Implementation{
		Name:     "irn",
		Title:    "IRN: selective retransmission with per-QP bitmaps and a BDP cap",
		Source:   "Mittal et al., Revisiting Network Support for RDMA, SIGCOMM 2018 (IRN)",
		Params:   Params(),
		Recover:  "irn",
		Features: []string{"sr", "direct", "extension"},
		Accepts:  wire.Accepts,
		New: func(qp engine.QP, mem engine.Memory) (engine.Requester, engine.Responder, error) {
			var cfg Config
			err := qp.Params.Read(wire.Name, Params(), func(name, value string) error {
				_, err := cfg.Set(name, value)
				return err
			})
			if err != nil {
				return nil, nil, err
			}
			req, resp, err := New(qp, cfg, wire, mem)
			if err != nil {
				return nil, nil, err
			}
			return req, resp, nil
		},
	}
}

// New builds the two halves of one end of a QP, in the dialect of w. The error names the attribute that it rejects.
func New(qp engine.QP, cfg Config, w Wire, mem engine.Memory) (*Requester, *Responder, error) {
	if err := w.validate(&qp); err != nil {
		return nil, nil, err
	}
	cfg.rto = cfg.timeouts(&qp)
	return newRequester(qp, &cfg, &w, mem), newResponder(qp, &cfg, &w, mem), nil
}

// maxDepth bounds every queue of a QP; it is the largest depth that NICs offer, with room to spare.
const maxDepth = 1 << 20

// validate rejects attributes that no QP can have.
func (w *Wire) validate(qp *engine.QP) error {
	switch {
	case qp.MTU < 256 || qp.MTU > 4096 || qp.MTU&(qp.MTU-1) != 0:
		return fmt.Errorf("%s: MTU %d: want 256, 512, 1024, 2048 or 4096", w.Name, qp.MTU)
	case qp.QPN > psn.Mask || qp.DestQPN > psn.Mask:
		return fmt.Errorf("%s: QPN %#x or DestQPN %#x: want 24 bits", w.Name, qp.QPN, qp.DestQPN)
	case qp.SendPSN > psn.Mask || qp.RecvPSN > psn.Mask:
		return fmt.Errorf("%s: SendPSN %d or RecvPSN %d: want 24 bits", w.Name, qp.SendPSN, qp.RecvPSN)
	case qp.RetryCount > 7 || qp.RNRRetry > 7:
		return fmt.Errorf("%s: RetryCount %d or RNRRetry %d: want 0 to 7", w.Name, qp.RetryCount, qp.RNRRetry)
	case qp.Timeout > 31 || qp.MinRNRTimer > 31 || qp.RTO < 0:
		return fmt.Errorf("%s: Timeout %d, MinRNRTimer %d, RTO %v: want codes up to 31 and no negative time",
			w.Name, qp.Timeout, qp.MinRNRTimer, qp.RTO)
	case qp.QueueDepth < 1 || qp.QueueDepth > maxDepth:
		return fmt.Errorf("%s: QueueDepth %d: want 1 to %d", w.Name, qp.QueueDepth, maxDepth)
	}
	for _, d := range []struct {
		name string
		n    int
	}{{"ReceiveDepth", qp.ReceiveDepth}, {"MaxRdAtomic", qp.MaxRdAtomic}, {"MaxDestRd", qp.MaxDestRd},
		{"AckReqEvery", qp.AckReqEvery}, {"AckCoalesce", qp.AckCoalesce}} {
		if d.n < 0 || d.n > maxDepth {
			return fmt.Errorf("%s: %s %d: want 0 to %d", w.Name, d.name, d.n, maxDepth)
		}
	}
	return nil
}

// Lookups counts the operations for which a half needs its bitmaps: arrivals below one that was recorded before, which are
// retransmissions, and retransmissions that it decided on. A NIC that has no bitmap on its chip waits for them.
type Lookups struct{ Filled, Collected int64 }

// Lookups returns the counts of the half so far.
func (r *Requester) Lookups() Lookups { return Lookups{r.in.filled, r.out.collected} }

// Lookups returns the counts of the half so far.
func (r *Responder) Lookups() Lookups { return Lookups{r.in.filled, r.out.collected} }
