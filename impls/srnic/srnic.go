package srnic

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/impls/irn"
)

// wire is FaSR's: "Same placement headers", SACK for NACK.
var wire = irn.Wire{Name: "srnic", Base: roce.FSendFirst, Nack: roce.FaSRSack, ReadAck: roce.FaSRReadAck}

// Implementation returns the entry of the registry.
func Implementation() engine.Implementation {
	return engine.Implementation{
		Name:  "srnic",
		Title: "SRNIC-like: IRN's recovery with bitmaps in host memory, which stall the receive pipeline",
		Source: "Huang et al., Fast and Scalable Selective Retransmission for RDMA (FaSR), II-A, V, on SRNIC " +
			"(Wang et al., NSDI 2023)",
		Params:   params(),
		Recover:  "srn",
		Features: []string{"sr", "extension"},
		Accepts:  wire.Accepts,
		NewHost:  func(given engine.Params) (engine.Host, error) { return NewHost(given) },
		New: func(qp engine.QP, mem engine.Memory) (engine.Requester, engine.Responder, error) {
			h, err := NewHost(qp.Params)
			if err != nil {
				return nil, nil, err
			}
			return h.New(qp, mem)
		},
	}
}

// Host is the state that all QPs of an endpoint share: the receive pipeline.
type Host struct {
	cfg  config
	pipe pipeline
}

// NewHost makes the shared part of one endpoint. The error names the parameter that it rejects.
func NewHost(given engine.Params) (*Host, error) {
	cfg, err := parse(given)
	if err != nil {
		return nil, err
	}
	return &Host{cfg: cfg, pipe: pipeline{cfg: cfg.pipe}}, nil
}

// New builds the two halves of one end of a QP, behind the pipeline. The parameters are those of the host. The error
// names the attribute that it rejects.
func (h *Host) New(qp engine.QP, mem engine.Memory) (engine.Requester, engine.Responder, error) {
	req, resp, err := irn.New(qp, h.cfg.irn, wire, mem)
	if err != nil {
		return nil, nil, err
	}
	return &Requester{half{inner: req, pipe: &h.pipe}, req}, &Responder{half{inner: resp, pipe: &h.pipe}, resp}, nil
}
