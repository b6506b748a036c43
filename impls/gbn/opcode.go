package gbn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// kind is the operation type of a request, which must not change inside a message (IBTA 9.4).
type kind uint8

const (
	kindNone kind = iota // not a request of this transport
	kindSend
	kindWrite
	kindRead
	kindAtomic
)

// shape is what a request opcode says: its operation, and where in its message the packet stands.
type shape struct {
	kind        kind
	first, last bool
	op          engine.Op // what a receive completion reports; meaningful on the last packet
	imm         bool
}

// shapes is indexed by the opcode's five low bits; opcodes of other classes have no shape here (IBTA 9.2, table 35).
var shapes = [32]shape{
	roce.SendFirst:    {kind: kindSend, first: true},
	roce.SendMiddle:   {kind: kindSend},
	roce.SendLast:     {kind: kindSend, last: true, op: engine.OpSend},
	roce.SendLastImm:  {kind: kindSend, last: true, op: engine.OpSendImm, imm: true},
	roce.SendLastInv:  {kind: kindSend, last: true, op: engine.OpSendInv},
	roce.SendOnly:     {kind: kindSend, first: true, last: true, op: engine.OpSend},
	roce.SendOnlyImm:  {kind: kindSend, first: true, last: true, op: engine.OpSendImm, imm: true},
	roce.SendOnlyInv:  {kind: kindSend, first: true, last: true, op: engine.OpSendInv},
	roce.WriteFirst:   {kind: kindWrite, first: true},
	roce.WriteMiddle:  {kind: kindWrite},
	roce.WriteLast:    {kind: kindWrite, last: true, op: engine.OpWrite},
	roce.WriteLastImm: {kind: kindWrite, last: true, op: engine.OpWriteImm, imm: true},
	roce.WriteOnly:    {kind: kindWrite, first: true, last: true, op: engine.OpWrite},
	roce.WriteOnlyImm: {kind: kindWrite, first: true, last: true, op: engine.OpWriteImm, imm: true},
	roce.ReadRequest:  {kind: kindRead, first: true, last: true, op: engine.OpRead},
	roce.CompareSwap:  {kind: kindAtomic, first: true, last: true, op: engine.OpCompareSwap},
	roce.FetchAdd:     {kind: kindAtomic, first: true, last: true, op: engine.OpFetchAdd},
}

// shapeOf returns the shape of an opcode, whose kind is kindNone when it is not an RC request.
func shapeOf(op roce.Opcode) *shape {
	if op >= 32 {
		return &shapes[roce.Acknowledge]
	}
	return &shapes[op]
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

// requestOpcodes gives, per operation, the opcodes FIRST, MIDDLE, ONLY and LAST. Immediate data and the key to
// invalidate travel on the last packet only.
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

// readOpcodes are those of READ responses, in the same order.
var readOpcodes = [4]roce.Opcode{roce.ReadRespFirst, roce.ReadRespMiddle, roce.ReadRespOnly, roce.ReadRespLast}

// pad returns the bytes that fill n up to a multiple of four (IBTA 9.2).
func pad(n int) uint8 { return uint8(-n & 3) }
