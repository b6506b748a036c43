package fasr

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
)

// f turns an opcode of RC into its namesake in the class of FaSR, whose packets carry what is needed to place each of
// them alone: SEND "the 3 bytes size send message sequence number (MSN) and 3 bytes for the payload offset", WRITE
// "their target remote memory address, which costs 8 bytes" (FaSR IV-D). Three bytes of offset would end a SEND at 16
// MiB; the header here has four.
func f(o roce.Opcode) roce.Opcode { return roce.FSendFirst + o }

// shapeOf returns the shape of an opcode; its kind is rc.None when it is not a request. The packets of RC are
// understood too: what they do not say of their place follows from their turn, which the reorder store waits for.
func shapeOf(o roce.Opcode) *rc.Shape {
	if o >= roce.FSendFirst {
		o -= roce.FSendFirst
	}
	return rc.ShapeOf(o)
}

// accepts reports the opcodes outside the RC class that the scheme uses.
func accepts(o roce.Opcode) bool {
	return o >= roce.FSendFirst && o <= roce.FReadRespOnly || o >= roce.FaSRSack && o <= roce.FNACK
}

// checkRequest rejects a work request that is malformed or that the scheme has no packets for, and returns how many
// packets of data a good one has.
func checkRequest(qp *engine.QP, wr *engine.WorkRequest) (packets int, err error) {
	if wr.Op == engine.OpSendInv || wr.Op == engine.OpCompareSwap || wr.Op == engine.OpFetchAdd {
		return 0, fmt.Errorf("fasr: work request %d: %s has no packet format in FaSR; use SEND, WRITE or READ", wr.ID,
			wr.Op)
	}
	if packets, err = rc.CheckRequest(qp, wr); err != nil {
		return 0, fmt.Errorf("fasr: %w", err)
	}
	return packets, nil
}
