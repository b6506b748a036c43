// Package transport is where a transport of your own would be. This one is Gauntlet's go-back-N under another name:
// replace New by the two halves of yours, and say in Recover and Features by which rules they are to be judged.
package transport

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
)

// Implementation describes the transport, and makes one end of a QP.
func Implementation() engine.Implementation {
	return engine.Implementation{
		Name:    "transport",
		Title:   "A transport of ours",
		Source:  "this repository",
		Recover: "gbn",
		New: func(qp engine.QP, mem engine.Memory) (engine.Requester, engine.Responder, error) {
			return gbn.Implementation().New(qp, mem)
		},
	}
}
