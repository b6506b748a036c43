package fasr

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

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
	imm         bool
}

// f turns an opcode of RC into its namesake in the class of FaSR, whose packets carry what is needed to place each of them
// alone: SEND "the 3 bytes size send message sequence number (MSN) and 3 bytes for the payload offset", WRITE "their
// target remote memory address, which costs 8 bytes" (FaSR IV-D).
func f(o roce.Opcode) roce.Opcode { return roce.FSendFirst + o }

var shapes = [...]shape{
	roce.SendFirst:    {kind: kindSend, first: true},
	roce.SendMiddle:   {kind: kindSend},
	roce.SendLast:     {kind: kindSend, last: true, op: engine.OpSend},
	roce.SendLastImm:  {kind: kindSend, last: true, op: engine.OpSendImm, imm: true},
	roce.SendOnly:     {kind: kindSend, first: true, last: true, op: engine.OpSend},
	roce.SendOnlyImm:  {kind: kindSend, first: true, last: true, op: engine.OpSendImm, imm: true},
	roce.WriteFirst:   {kind: kindWrite, first: true},
	roce.WriteMiddle:  {kind: kindWrite},
	roce.WriteLast:    {kind: kindWrite, last: true, op: engine.OpWrite},
	roce.WriteLastImm: {kind: kindWrite, last: true, op: engine.OpWriteImm, imm: true},
	roce.WriteOnly:    {kind: kindWrite, first: true, last: true, op: engine.OpWrite},
	roce.WriteOnlyImm: {kind: kindWrite, first: true, last: true, op: engine.OpWriteImm, imm: true},
	roce.ReadRequest:  {kind: kindRead, first: true, last: true, op: engine.OpRead},
	roce.CompareSwap:  {kind: kindAtomic, first: true, last: true},
	roce.FetchAdd:     {kind: kindAtomic, first: true, last: true},
}

// shapeOf returns the shape of an opcode; its kind is kindNone when it is not a request. The packets of RC are understood
// too: what they do not say of their place follows from their turn, which the reorder store waits for.
func shapeOf(o roce.Opcode) shape {
	if o >= roce.FSendFirst {
		o -= roce.FSendFirst
	}
	if int(o) >= len(shapes) {
		return shape{}
	}
	return shapes[o]
}

// accepts reports the opcodes outside the RC class that the scheme uses.
func accepts(o roce.Opcode) bool {
	return o >= roce.FSendFirst && o <= roce.FReadRespOnly || o >= roce.FaSRSack && o <= roce.FNACK
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
	engine.OpSend:     {roce.SendFirst, roce.SendMiddle, roce.SendOnly, roce.SendLast},
	engine.OpSendImm:  {roce.SendFirst, roce.SendMiddle, roce.SendOnlyImm, roce.SendLastImm},
	engine.OpWrite:    {roce.WriteFirst, roce.WriteMiddle, roce.WriteOnly, roce.WriteLast},
	engine.OpWriteImm: {roce.WriteFirst, roce.WriteMiddle, roce.WriteOnlyImm, roce.WriteLastImm},
}

// readOpcodes are those of READ responses, in the same order.
var readOpcodes = [4]roce.Opcode{roce.FReadRespFirst, roce.FReadRespFirst + 1, roce.FReadRespOnly, roce.FReadRespFirst + 2}

// pad returns the bytes that fill n up to a multiple of four (IBTA 9.2).
func pad(n int) uint8 { return uint8(-n & 3) }
