package irn

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
)

// Wire is the dialect of a transport that recovers like IRN: its opcodes. What a packet carries follows from the layout
// of its opcode (package roce).
type Wire struct {
	Name    string      // the scheme's, for errors
	Base    roce.Opcode // data packets are this plus the opcode of their namesake in RC
	Nack    roce.Opcode // out-of-order request
	ReadAck roce.Opcode // READ response, in order or not
}

// wire is IRN's, in the manufacturer-specific class 0xC0: a RETH on every packet of a WRITE, recv_WQE_SN and offset on
// every packet of a SEND, read_WQE_SN on READ requests and atomics (IRN 5.3).
var wire = Wire{Name: "irn", Base: roce.XSendFirst, Nack: roce.IRNNack, ReadAck: roce.IRNReadAck}

// of returns the namesake of an RC opcode.
func (w *Wire) of(o roce.Opcode) roce.Opcode { return w.Base + o }

// Accepts reports the opcodes outside the RC class that the dialect uses.
func (w *Wire) Accepts(o roce.Opcode) bool {
	return o == w.Nack || o == w.ReadAck || o.Class() == w.Base.Class() && w.plain(o) <= roce.FetchAdd && o.Known()
}

// plain returns the RC opcode whose namesake o is, or o itself when it is not of the dialect.
func (w *Wire) plain(o roce.Opcode) roce.Opcode {
	if o.Class() == w.Base.Class() {
		return o - w.Base
	}
	return o
}

// placesAlone reports whether every packet says all of where it goes.
func (w *Wire) placesAlone() bool { return w.of(roce.WriteMiddle).Layout()&roce.LayoutRETH != 0 }

// shapeOf returns the shape of an opcode of the dialect or of RC; its kind is rc.None when it is not a request. What RC
// packets do not say of their place follows from their turn, for which they wait.
func (w *Wire) shapeOf(o roce.Opcode) *rc.Shape { return rc.ShapeOf(w.plain(o)) }

// check rejects a work request that is malformed or that the dialect has no packets for, and returns how many packets
// of data a good one has.
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
