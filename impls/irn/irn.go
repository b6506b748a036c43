package irn

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
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
	if err := rc.CheckQP(&qp); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", w.Name, err)
	}
	cfg.rto = cfg.timeouts(&qp)
	return newRequester(qp, &cfg, &w, mem), newResponder(qp, &cfg, &w, mem), nil
}

// Lookups counts the operations for which a half reads its bitmaps. Filled counts arrivals below the highest recorded
// PSN, which are retransmissions; Collected counts retransmissions that the half decided on from SACKs. A NIC without
// the bitmaps on its chip must fetch them for each.
type Lookups struct{ Filled, Collected int64 }

// Lookups returns the counts of the half so far.
func (r *Requester) Lookups() Lookups { return Lookups{r.in.filled, r.out.collected} }

// Lookups returns the counts of the half so far.
func (r *Responder) Lookups() Lookups { return Lookups{r.in.filled, r.out.collected} }
