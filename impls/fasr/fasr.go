package fasr

import "github.com/rdma-gauntlet/gauntlet/harness/engine"

// Implementation returns the entry of the registry.
func Implementation() engine.Implementation {
	return engine.Implementation{
		Name:    "fasr",
		Title:   "Fast and scalable selective retransmission with a shared SR pool",
		Source:  "Huang et al., Fast and Scalable Selective Retransmission for RDMA (FaSR)",
		Params:  params(),
		Recover: "fasr",

		Features: []string{"sr", "sr-newest", "extension"},
		Accepts:  accepts,
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
