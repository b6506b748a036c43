package writerecord

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// Implementation returns the entry of the registry.
func Implementation() engine.Implementation {
	return engine.Implementation{
		Name:    "writerecord",
		Title:   "Datagram-iWARP: send/receive and RDMA Write-Record over UDP",
		Source:  "Grant et al., RDMA Capable iWARP over Datagrams",
		Params:  params(),
		Recover: "iwarp-ud",

		Features: []string{"iwarp", engine.Unreliable},
		Accepts:  func(o roce.Opcode) bool { return o == roce.UDP },
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
