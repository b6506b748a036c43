// Package transport is a place for your own transport. This one is Gauntlet's go-back-N under another name: replace New
// by the two halves of yours, and declare in Recover and Features the rules that apply to them.
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
