package irn

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
)

// Wire is the set of opcodes of a transport with IRN's recovery. The headers of a packet follow from the layout of its
// opcode (package roce).
type Wire struct {
	Name    string      // name of the scheme, for errors
	Base    roce.Opcode // added to an RC opcode to get its namesake
	Nack    roce.Opcode // answer to an out-of-order request
	ReadAck roce.Opcode // answer to a READ response, in order or not
}

// wire holds IRN's opcodes, in the manufacturer-specific class 0xC0: a RETH on every packet of a WRITE, recv_WQE_SN and
// offset on every packet of a SEND, read_WQE_SN on READ requests and atomics (IRN 5.3).
var wire = Wire{Name: "irn", Base: roce.XSendFirst, Nack: roce.IRNNack, ReadAck: roce.IRNReadAck}

// of returns the namesake of an RC opcode.
func (w *Wire) of(o roce.Opcode) roce.Opcode { return w.Base + o }

// Accepts reports whether the dialect uses o, an opcode outside the RC class.
func (w *Wire) Accepts(o roce.Opcode) bool {
	return o == w.Nack || o == w.ReadAck || o.Class() == w.Base.Class() && w.plain(o) <= roce.FetchAdd && o.Known()
}

// plain returns the RC opcode whose namesake is o, or o itself if the dialect does not define o.
func (w *Wire) plain(o roce.Opcode) roce.Opcode {
	if o.Class() == w.Base.Class() {
		return o - w.Base
	}
	return o
}

// placesAlone reports whether every packet carries its complete address, so that it can be placed out of order.
func (w *Wire) placesAlone() bool { return w.of(roce.WriteMiddle).Layout()&roce.LayoutRETH != 0 }

// shapeOf returns the shape of an opcode of the dialect or of RC; its kind is rc.None if the opcode is not a request.
// RC packets carry no complete address, and are executed in PSN order.
func (w *Wire) shapeOf(o roce.Opcode) *rc.Shape { return rc.ShapeOf(w.plain(o)) }

// check rejects a work request that is malformed or that the dialect has no packets for, and returns the number of data
// packets of any other.
func (w *Wire) check(qp *engine.QP, wr *engine.WorkRequest) (packets int, err error) {
	if wr.Op <= engine.OpFetchAdd && !w.of(rc.RequestOpcode(wr.Op, true, true)).Known() {
		return 0, fmt.Errorf("%s: work request %d: %s has no packet format here; use SEND, WRITE or READ",
			w.Name, wr.ID, wr.Op)
	}
	if packets, err = rc.CheckRequest(qp, wr); err != nil {
		return 0, fmt.Errorf("%s: %w", w.Name, err)
	}
	return packets, nil
}
