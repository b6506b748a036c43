// Package gbn is the reliable connection (RC) as commodity RoCEv2 NICs implement it: cumulative acknowledgements and
// go-back-N. It is the baseline that every other scheme is compared with.
//
// The requester keeps three sequence numbers, snd_una <= snd_nxt <= snd_max, and a ring of work requests, each with its
// first and last PSN. Packets are built from the work requests when the link is free, so there is no state per packet.
// The responder keeps one sequence number, the expected PSN (epsn). A packet after epsn is dropped, and each gap draws
// one NAK; a packet before epsn is a duplicate, which is answered and not executed. Only READs and atomics leave state
// at the responder, in a short ring from which duplicates are answered.
//
// Source: InfiniBand Architecture Specification Vol 1, chapter 9 (9.4 operations, 9.7 reliable service), with annex
// A17. Start reading at requester.go and responder.go.
//
// Not done here: congestion control, end-to-end credits, adaptive retransmission, and the checks below the transport
// (ICRC, version, partition key), which are the driver's.
package gbn

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
)

// Implementation returns the entry of the registry.
func Implementation() engine.Implementation {
	return engine.Implementation{
		Name:    "gbn",
		Title:   "RoCEv2 reliable connection with go-back-N",
		Source:  "InfiniBand Architecture Specification Vol 1, 9.7; annex A17 (RoCEv2)",
		Params:  params(),
		Recover: "gbn",
		New: func(qp engine.QP, mem engine.Memory) (engine.Requester, engine.Responder, error) {
			req, resp, err := New(qp, mem)
			if err != nil {
				return nil, nil, err
			}
			return req, resp, nil
		},
	}
}

// New builds the two halves of one end of a QP. The error names the attribute or the parameter that it rejects.
func New(qp engine.QP, mem engine.Memory) (*Requester, *Responder, error) {
	cfg, err := parse(qp.Params)
	if err != nil {
		return nil, nil, err
	}
	if err := rc.CheckQP(&qp); err != nil {
		return nil, nil, fmt.Errorf("gbn: %w", err)
	}
	return newRequester(qp, cfg, mem), newResponder(qp, cfg, mem), nil
}
