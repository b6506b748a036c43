package irn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// Wire is the dialect of a transport that recovers like IRN: its opcodes. What a packet carries follows from the layout of
// its opcode (package roce).
type Wire struct {
	Name    string      // the scheme's, for errors
	Base    roce.Opcode // data packets are this plus the opcode of their namesake in RC
	Nack    roce.Opcode // out-of-order request
	ReadAck roce.Opcode // READ response, in order or not
}

// wire is IRN's, in the manufacturer-specific class 0xC0: a RETH on every packet of a WRITE, recv_WQE_SN and offset on every
// packet of a SEND, read_WQE_SN on READ requests and atomics (IRN 5.3).
var wire = Wire{Name: "irn", Base: roce.XSendFirst, Nack: roce.IRNNack, ReadAck: roce.IRNReadAck}

// of returns the namesake of an RC opcode.
func (w *Wire) of(o roce.Opcode) roce.Opcode { return w.Base + o }

// Accepts reports the opcodes outside the RC class that the dialect uses.
func (w *Wire) Accepts(o roce.Opcode) bool {
	return o == w.Nack || o == w.ReadAck || o.Class() == w.Base.Class() && w.rc(o) <= roce.FetchAdd && o.Known()
}

// rc returns the RC opcode whose namesake o is, or o itself when it is not of the dialect.
func (w *Wire) rc(o roce.Opcode) roce.Opcode {
	if o.Class() == w.Base.Class() {
		return o - w.Base
	}
	return o
}

// placesAlone reports whether every packet says all of where it goes.
func (w *Wire) placesAlone() bool { return w.of(roce.WriteMiddle).Layout()&roce.LayoutRETH != 0 }

// kind is what a request does at the responder.
type kind uint8

const (
	kindNone kind = iota
	kindSend
	kindWrite
	kindRead
	kindAtomic
)

// shape is what an opcode says about a request packet: the operation, and where it stands in its message.
type shape struct {
	kind        kind
	first, last bool
	op          engine.Op // of a last packet
}

// completes reports a packet whose message completes a receive.
func (s *shape) completes() bool { return s.last && (s.kind == kindSend || s.op == engine.OpWriteImm) }

// code is how the 2-bitmap records the packet.
func (s *shape) code() code {
	switch {
	case !s.last:
		return partly
	case s.completes():
		return waiting
	}
	return whole
}

var shapes = [...]shape{
	roce.SendFirst:    {kind: kindSend, first: true},
	roce.SendMiddle:   {kind: kindSend},
	roce.SendLast:     {kind: kindSend, last: true, op: engine.OpSend},
	roce.SendLastImm:  {kind: kindSend, last: true, op: engine.OpSendImm},
	roce.SendOnly:     {kind: kindSend, first: true, last: true, op: engine.OpSend},
	roce.SendOnlyImm:  {kind: kindSend, first: true, last: true, op: engine.OpSendImm},
	roce.WriteFirst:   {kind: kindWrite, first: true},
	roce.WriteMiddle:  {kind: kindWrite},
	roce.WriteLast:    {kind: kindWrite, last: true, op: engine.OpWrite},
	roce.WriteLastImm: {kind: kindWrite, last: true, op: engine.OpWriteImm},
	roce.WriteOnly:    {kind: kindWrite, first: true, last: true, op: engine.OpWrite},
	roce.WriteOnlyImm: {kind: kindWrite, first: true, last: true, op: engine.OpWriteImm},
	roce.ReadRequest:  {kind: kindRead, first: true, last: true, op: engine.OpRead},
	roce.CompareSwap:  {kind: kindAtomic, first: true, last: true, op: engine.OpCompareSwap},
	roce.FetchAdd:     {kind: kindAtomic, first: true, last: true, op: engine.OpFetchAdd},
}

// shapeOf returns the shape of an opcode of the dialect or of RC; its kind is kindNone when it is not a request. What RC
// packets do not say of their place follows from their turn, for which they wait.
func (w *Wire) shapeOf(o roce.Opcode) shape {
	if o = w.rc(o); int(o) < len(shapes) {
		return shapes[o]
	}
	return shape{}
}

// position picks among the opcodes of one operation by where the packet stands in its message.
func position(first, last bool, ops *[4]roce.Opcode) roce.Opcode {
	i := 0
	if !first {
		i++
	}
	if last {
		i += 2
	}
	return ops[i]
}

// requestOpcodes gives, per operation, the RC namesakes of FIRST, MIDDLE, ONLY and LAST. Immediate data travels on the last
// packet only.
var requestOpcodes = [...][4]roce.Opcode{
	engine.OpSend:        {roce.SendFirst, roce.SendMiddle, roce.SendOnly, roce.SendLast},
	engine.OpSendImm:     {roce.SendFirst, roce.SendMiddle, roce.SendOnlyImm, roce.SendLastImm},
	engine.OpSendInv:     {roce.SendFirst, roce.SendMiddle, roce.SendOnlyInv, roce.SendLastInv},
	engine.OpWrite:       {roce.WriteFirst, roce.WriteMiddle, roce.WriteOnly, roce.WriteLast},
	engine.OpWriteImm:    {roce.WriteFirst, roce.WriteMiddle, roce.WriteOnlyImm, roce.WriteLastImm},
	engine.OpRead:        {2: roce.ReadRequest},
	engine.OpCompareSwap: {2: roce.CompareSwap},
	engine.OpFetchAdd:    {2: roce.FetchAdd},
}

// readOpcodes are the RC namesakes of READ responses, in the same order.
var readOpcodes = [4]roce.Opcode{roce.ReadRespFirst, roce.ReadRespMiddle, roce.ReadRespOnly, roce.ReadRespLast}

// pad returns the bytes that fill n up to a multiple of four (IBTA 9.2).
func pad(n int) uint8 { return uint8(-n & 3) }
