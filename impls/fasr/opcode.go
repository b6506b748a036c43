package fasr

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
)

// f returns the namesake of an RC opcode in the class of FaSR, whose packets carry the header fields needed to place
// each packet by itself: SEND "the 3 bytes size send message sequence number (MSN) and 3 bytes for the payload offset",
// WRITE "their target remote memory address, which costs 8 bytes" (FaSR IV-D). Three bytes of offset would end a SEND
// at 16 MiB; the header here has four.
func f(o roce.Opcode) roce.Opcode { return roce.FSendFirst + o }

// shapeOf returns the shape of an opcode of FaSR or of RC; its kind is rc.None if the opcode is not a request. RC
// packets carry no complete address; the reorder store delays them until they are executed in PSN order.
func shapeOf(o roce.Opcode) *rc.Shape {
	if o >= roce.FSendFirst {
		o -= roce.FSendFirst
	}
	return rc.ShapeOf(o)
}

// accepts reports whether the scheme uses o, an opcode outside the RC class.
func accepts(o roce.Opcode) bool {
	return o >= roce.FSendFirst && o <= roce.FReadRespOnly || o >= roce.FaSRSack && o <= roce.FNACK
}

// checkRequest rejects a work request that is malformed or that the scheme has no packets for, and returns the number
// of data packets of any other.
func checkRequest(qp *engine.QP, wr *engine.WorkRequest) (packets int, err error) {
	if wr.Op == engine.OpSendInv || wr.Op == engine.OpCompareSwap || wr.Op == engine.OpFetchAdd {
		return 0, fmt.Errorf(
			"fasr: work request %d: %s has no packet format in FaSR; use SEND, WRITE or READ", wr.ID, wr.Op)
	}
	if packets, err = rc.CheckRequest(qp, wr); err != nil {
		return 0, fmt.Errorf("fasr: %w", err)
	}
	return packets, nil
}
