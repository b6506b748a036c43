// Package gbn is the reliable connection (RC) as commodity RoCEv2 NICs implement it: cumulative acknowledgements and
// go-back-N. It is the baseline that every other scheme is compared with.
//
// The requester keeps three sequence numbers, snd_una <= snd_nxt <= snd_max, and a ring of work requests, each with its
// first and last PSN; packets are made from them when the link is free, so nothing is kept per packet. The responder
// keeps one, the expected PSN (epsn): what comes early is dropped and answered with one NAK, what comes late is
// answered and not executed. Only READs and atomics leave something behind at the responder, in a short ring from which
// they are replayed.
//
// Source: InfiniBand Architecture Specification Vol 1, chapter 9 (9.4 operations, 9.7 reliable service), with annex A17.
// Start reading at requester.go and responder.go.
//
// Not done here: congestion control, end-to-end credits, adaptive retransmission, and the checks below the transport
// (ICRC, version, partition key), which are the driver's.
package gbn

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
)

// maxMessage is the largest message of RC in bytes (IBTA 9.4).
const maxMessage = 1 << 31

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
	if err := validate(&qp); err != nil {
		return nil, nil, err
	}
	return newRequester(qp, cfg, mem), newResponder(qp, cfg, mem), nil
}

// maxDepth bounds every queue of a QP; it is the largest depth that NICs offer, with room to spare.
const maxDepth = 1 << 20

// validate rejects attributes that no QP can have.
func validate(qp *engine.QP) error {
	switch {
	case qp.MTU < 256 || qp.MTU > 4096 || qp.MTU&(qp.MTU-1) != 0:
		return fmt.Errorf("gbn: MTU %d: want 256, 512, 1024, 2048 or 4096", qp.MTU)
	case qp.QPN > psn.Mask || qp.DestQPN > psn.Mask:
		return fmt.Errorf("gbn: QPN %#x or DestQPN %#x: want 24 bits", qp.QPN, qp.DestQPN)
	case qp.SendPSN > psn.Mask || qp.RecvPSN > psn.Mask:
		return fmt.Errorf("gbn: SendPSN %d or RecvPSN %d: want 24 bits", qp.SendPSN, qp.RecvPSN)
	case qp.RetryCount > 7 || qp.RNRRetry > 7:
		return fmt.Errorf("gbn: RetryCount %d or RNRRetry %d: want 0 to 7", qp.RetryCount, qp.RNRRetry)
	case qp.Timeout > 31 || qp.MinRNRTimer > 31 || qp.RTO < 0:
		return fmt.Errorf("gbn: Timeout %d, MinRNRTimer %d, RTO %v: want codes up to 31 and no negative time",
			qp.Timeout, qp.MinRNRTimer, qp.RTO)
	case qp.QueueDepth < 1 || qp.QueueDepth > maxDepth:
		return fmt.Errorf("gbn: QueueDepth %d: want 1 to %d", qp.QueueDepth, maxDepth)
	}
	for _, d := range []struct {
		name string
		n    int
	}{{"ReceiveDepth", qp.ReceiveDepth}, {"MaxRdAtomic", qp.MaxRdAtomic}, {"MaxDestRd", qp.MaxDestRd},
		{"AckReqEvery", qp.AckReqEvery}, {"AckCoalesce", qp.AckCoalesce}} {
		if d.n < 0 || d.n > maxDepth {
			return fmt.Errorf("gbn: %s %d: want 0 to %d", d.name, d.n, maxDepth)
		}
	}
	return nil
}
