package rc

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
)

// MaxMessage is the largest message of RC in bytes (IBTA 9.4).
const MaxMessage = 1 << 31

// maxDepth bounds every queue of a QP, in entries; no NIC offers a larger depth.
const maxDepth = 1 << 20

// CheckQP rejects attributes outside their range. The error names the attribute.
func CheckQP(qp *engine.QP) error {
	switch {
	case qp.MTU < 256 || qp.MTU > 4096 || qp.MTU&(qp.MTU-1) != 0:
		return fmt.Errorf("MTU %d: want 256, 512, 1024, 2048 or 4096", qp.MTU)
	case qp.QPN > psn.Mask || qp.DestQPN > psn.Mask:
		return fmt.Errorf("QPN %#x or DestQPN %#x: want 24 bits", qp.QPN, qp.DestQPN)
	case qp.SendPSN > psn.Mask || qp.RecvPSN > psn.Mask:
		return fmt.Errorf("SendPSN %d or RecvPSN %d: want 24 bits", qp.SendPSN, qp.RecvPSN)
	case qp.RetryCount > 7 || qp.RNRRetry > 7:
		return fmt.Errorf("RetryCount %d or RNRRetry %d: want 0 to 7", qp.RetryCount, qp.RNRRetry)
	case qp.Timeout > 31 || qp.MinRNRTimer > 31 || qp.RTO < 0:
		return fmt.Errorf("Timeout %d, MinRNRTimer %d, RTO %v: want codes up to 31 and no negative time",
			qp.Timeout, qp.MinRNRTimer, qp.RTO)
	case qp.QueueDepth < 1 || qp.QueueDepth > maxDepth:
		return fmt.Errorf("QueueDepth %d: want 1 to %d", qp.QueueDepth, maxDepth)
	}
	for _, d := range []struct {
		name string
		n    int
	}{{"ReceiveDepth", qp.ReceiveDepth}, {"MaxRdAtomic", qp.MaxRdAtomic}, {"MaxDestRd", qp.MaxDestRd},
		{"AckReqEvery", qp.AckReqEvery}, {"AckCoalesce", qp.AckCoalesce}} {
		if d.n < 0 || d.n > maxDepth {
			return fmt.Errorf("%s %d: want 0 to %d", d.name, d.n, maxDepth)
		}
	}
	return nil
}

// CheckRequest rejects a malformed work request, and returns the number of data packets of a well-formed one: request
// packets, or for a READ or atomic response packets.
func CheckRequest(qp *engine.QP, wr *engine.WorkRequest) (packets int, err error) {
	packets = qp.Packets(wr.Len)
	switch {
	case wr.Op > engine.OpFetchAdd:
		return 0, fmt.Errorf("work request %d: operation %d is not known", wr.ID, wr.Op)
	case wr.Len > MaxMessage:
		return 0, fmt.Errorf("work request %d: %d bytes; a message has 2^31 at most", wr.ID, wr.Len)
	case wr.Op > engine.OpRead && wr.Len != 8:
		return 0, fmt.Errorf("work request %d: %s of %d bytes; an atomic has 8", wr.ID, wr.Op, wr.Len)
	case wr.Op >= engine.OpRead && qp.MaxRdAtomic == 0:
		return 0, fmt.Errorf("work request %d: %s needs MaxRdAtomic of 1 or more", wr.ID, wr.Op)
	// All PSNs of a READ become outstanding at once, and fewer than 2^23 may be outstanding (IBTA 9.7.2).
	case wr.Op == engine.OpRead && packets >= psn.Half:
		return 0, fmt.Errorf("work request %d: READ of %d packets; raise the MTU or split it", wr.ID, packets)
	}
	return packets, nil
}
