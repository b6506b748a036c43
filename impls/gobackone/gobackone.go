// Package gobackone implements Go-Back-ONE: selective repeat added to go-back-N. The responder keeps out-of-order
// packets and sends a RACK for each of them; the requester retransmits the packets that the RACKs show to be missing,
// once, before new data.
//
// Source: Wang, "Research on transmission reliability of RoCEv2 protocol in WAN", IV-B and IV-C, quoted where it is
// implemented. The paper adds to "the default Go-Back-N algorithm of HPCC", and so does this package: each half holds
// one of package gbn, which does all that the paper does not speak of. Read requester.go and responder.go.
//
// Decisions that the paper leaves open. A floor of Algorithm 1 keeps the first loss from being queued, and is one
// packet lower here (retransqueue.go; printed_test.go runs the printed form). Algorithm 2 sends a full MTU again where
// the packet was short; the real packet is sent. READ responses and RNR NAKs are not mentioned: go-back-N's rules hold,
// but after an RNR wait one packet is sent, because what follows it is kept. A RACK costs no retry, since each early
// packet brings one.
//
// A lost retransmission draws no RACK and is left to the timer; the timeout goes back N, or one packet with rto=one.
package gobackone

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
)

// Implementation returns the entry of the registry.
func Implementation() engine.Implementation {
	return engine.Implementation{
		Name:     "gobackone",
		Title:    "Go-Back-ONE: RACK per early packet, retransmission of the gap",
		Source:   "Wang, Research on transmission reliability of RoCEv2 protocol in WAN, IV-B, IV-C",
		Params:   params(),
		Recover:  "gb1",
		Features: []string{"sr", "extension"},
		Accepts:  func(o roce.Opcode) bool { return o == roce.RACK },
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
	qp.Params = cfg.inner
	req, resp, err := gbn.New(qp, mem)
	if err != nil {
		return nil, nil, err
	}
	return newRequester(req, &qp, cfg), newResponder(resp, &qp, cfg), nil
}
