package rc

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// Kind is the operation type of a request, which must not change inside a message (IBTA 9.4).
type Kind uint8

// The kinds of requests.
const (
	None Kind = iota // not a request of RC
	Send
	Write
	Read
	Atomic
)

// Shape is the meaning of a request opcode: the operation, and the position of the packet in its message.
type Shape struct {
	Kind        Kind
	First, Last bool      // both for a message of one packet
	Op          engine.Op // operation that a receive completion reports; set for the last packet only
	Imm         bool      // the packet carries immediate data
}

// shapes is indexed by the opcode's five low bits; opcodes of other classes have no shape here (IBTA 9.2, table 35).
var shapes = [32]Shape{
	roce.SendFirst:    {Kind: Send, First: true},
	roce.SendMiddle:   {Kind: Send},
	roce.SendLast:     {Kind: Send, Last: true, Op: engine.OpSend},
	roce.SendLastImm:  {Kind: Send, Last: true, Op: engine.OpSendImm, Imm: true},
	roce.SendLastInv:  {Kind: Send, Last: true, Op: engine.OpSendInv},
	roce.SendOnly:     {Kind: Send, First: true, Last: true, Op: engine.OpSend},
	roce.SendOnlyImm:  {Kind: Send, First: true, Last: true, Op: engine.OpSendImm, Imm: true},
	roce.SendOnlyInv:  {Kind: Send, First: true, Last: true, Op: engine.OpSendInv},
	roce.WriteFirst:   {Kind: Write, First: true},
	roce.WriteMiddle:  {Kind: Write},
	roce.WriteLast:    {Kind: Write, Last: true, Op: engine.OpWrite},
	roce.WriteLastImm: {Kind: Write, Last: true, Op: engine.OpWriteImm, Imm: true},
	roce.WriteOnly:    {Kind: Write, First: true, Last: true, Op: engine.OpWrite},
	roce.WriteOnlyImm: {Kind: Write, First: true, Last: true, Op: engine.OpWriteImm, Imm: true},
	roce.ReadRequest:  {Kind: Read, First: true, Last: true, Op: engine.OpRead},
	roce.CompareSwap:  {Kind: Atomic, First: true, Last: true, Op: engine.OpCompareSwap},
	roce.FetchAdd:     {Kind: Atomic, First: true, Last: true, Op: engine.OpFetchAdd},
}

// ShapeOf returns the shape of an opcode; its Kind is None if the opcode is not an RC request.
func ShapeOf(op roce.Opcode) *Shape {
	if op >= 32 {
		return &shapes[roce.Acknowledge]
	}
	return &shapes[op]
}

// Completes reports whether the packet completes a receive: the last of a SEND or of a WRITE with immediate.
func (s *Shape) Completes() bool { return s.Last && (s.Kind == Send || s.Op == engine.OpWriteImm) }

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

// readOpcodes are the opcodes of READ responses, in the order of requestOpcodes.
var readOpcodes = [4]roce.Opcode{roce.ReadRespFirst, roce.ReadRespMiddle, roce.ReadRespOnly, roce.ReadRespLast}

// RequestOpcode returns the opcode of a request packet by its position in the message. A READ or an atomic is one
// packet, both first and last.
func RequestOpcode(op engine.Op, first, last bool) roce.Opcode {
	return requestOpcodes[op][position(first, last)]
}

// ReadOpcode returns the opcode of a READ response by its position among the responses.
func ReadOpcode(first, last bool) roce.Opcode { return readOpcodes[position(first, last)] }

// position returns the index of a packet's opcode among the opcodes of its operation.
func position(first, last bool) int {
	i := 0
	if !first {
		i++
	}
	if last {
		i += 2
	}
	return i
}
