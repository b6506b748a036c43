package rule

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// Operation is the kind of operation that an opcode belongs to. All packets of a message have the same operation.
type Operation uint8

// The operations.
const (
	NoOperation Operation = iota
	Send
	Write
	Read
	Atomic
)

// OperationOf returns the operation of a request, READ response or atomic response.
func OperationOf(o roce.Opcode) Operation {
	switch {
	case o.IsSend():
		return Send
	case o.IsWrite():
		return Write
	case o.IsRead(), o.IsReadResponse():
		return Read
	case o.IsAtomic(), o == roce.AtomicAck:
		return Atomic
	}
	return NoOperation
}

// AccessOf returns the right that a request needs; ok is false for a SEND, which needs none.
func AccessOf(o roce.Opcode) (need engine.Access, ok bool) {
	switch OperationOf(o) {
	case Read:
		return engine.RemoteRead, true
	case Write:
		return engine.RemoteWrite, true
	case Atomic:
		return engine.RemoteAtomic, true
	}
	return 0, false
}

// HasAETH reports whether a packet carries an AETH: every acknowledgement, and every READ response except the MIDDLE.
func HasAETH(o roce.Opcode) bool { return o.Layout()&roce.LayoutAETH != 0 }

// IsFatal reports whether a syndrome is a NAK after which the QP is in error: invalid request, remote access, remote
// operation (0x61 to 0x63).
func IsFatal(s roce.Syndrome) bool {
	return s == roce.SyndromeInvalidReq || s == roce.SyndromeRemoteAccess || s == roce.SyndromeRemoteOp
}

// IsACK reports a positive acknowledgement, IsNAK a sequence NAK (its PSN is the missing one), and IsRNR an RNR NAK.
func IsACK(p *roce.Packet) bool { return p.Opcode == roce.Acknowledge && p.AETH.Syndrome.IsACK() }
func IsNAK(p *roce.Packet) bool {
	return p.Opcode == roce.Acknowledge && p.AETH.Syndrome == roce.SyndromePSNSeqErr
}
func IsRNR(p *roce.Packet) bool { return p.Opcode == roce.Acknowledge && p.AETH.Syndrome.IsRNR() }

// IsFatalNAK reports whether a packet is a NAK after which the QP is in error.
func IsFatalNAK(p *roce.Packet) bool { return p.Opcode == roce.Acknowledge && IsFatal(p.AETH.Syndrome) }

// IsReserved reports whether a syndrome is reserved: of the kind 010, or with a NAK code above 4 (IBTA 9.3.5, table
// 43).
func IsReserved(s roce.Syndrome) bool {
	return !s.IsACK() && !s.IsRNR() && (!s.IsNAK() || s > roce.SyndromeInvalidRD)
}

// SamePartition compares P_Keys without the membership bit (IBTA 10.9.3).
func SamePartition(a, b uint16) bool { return (a^b)&0x7FFF == 0 }

// IsData reports whether an opcode is of a SEND or WRITE.
func IsData(o roce.Opcode) bool { return o.IsSend() || o.IsWrite() }

// OfConnection reports whether a reliable connection uses an opcode. A datagram or a packet of an unreliable connection
// that reaches a reliable connection is foreign to it.
func OfConnection(o roce.Opcode) bool {
	c := o.Class()
	return (c == roce.ClassRC || c == roce.ClassX || c == roce.ClassF) &&
		(o.IsRequest() || o.IsResponse() || o.IsReadAck())
}

// Extra returns the field of a request beside address, key and payload: the immediate, the key to invalidate, the
// DMALen, or a checksum of the operands of an atomic. ExtraName names the field.
func Extra(p *roce.Packet) uint32 {
	switch l := p.Opcode.Layout(); {
	case l&roce.LayoutImm != 0:
		return p.Imm
	case l&roce.LayoutIETH != 0:
		return p.InvKey
	case l&roce.LayoutAtomicETH != 0:
		const odd, other = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9 // the mixing constants of SplitMix64
		return uint32((p.Atomic.SwapAdd*odd + p.Atomic.Compare*other) >> 32)
	case l&roce.LayoutRETH != 0:
		return p.RETH.DMALen
	}
	return 0
}

// ExtraName returns the name of the field that Extra returns for an opcode.
func ExtraName(o roce.Opcode) string {
	switch l := o.Layout(); {
	case l&roce.LayoutImm != 0:
		return "immediate"
	case l&roce.LayoutIETH != 0:
		return "key to invalidate"
	case l&roce.LayoutAtomicETH != 0:
		return "operand"
	}
	return "DMALen"
}
