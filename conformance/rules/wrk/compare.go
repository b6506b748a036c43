package wrk

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// operationOf returns the operation of a request's packets.
func operationOf(op engine.Op) rule.Operation {
	switch op {
	case engine.OpWrite, engine.OpWriteImm:
		return rule.Write
	case engine.OpRead:
		return rule.Read
	case engine.OpCompareSwap, engine.OpFetchAdd:
		return rule.Atomic
	}
	return rule.Send
}

// unlike tells how a packet differs from packet number off of the span packets of a request; "" when it does not.
func unlike(t *task, p *roce.Packet, off, span, mtu int) string {
	o, wr := p.Opcode, &t.wr
	kind := operationOf(wr.Op)
	whole := kind == rule.Read || kind == rule.Atomic // one packet asks for all of its data
	last := off == span-1 || whole
	switch {
	case rule.OperationOf(o) != kind:
		return fmt.Sprintf("%v is sent where wr=%d, a %v, was posted", o, wr.ID, wr.Op)
	case o.StartsMessage() != (off == 0):
		return fmt.Sprintf("%v is packet %d of wr=%d", o, off, wr.ID)
	case o.EndsMessage() != last:
		return fmt.Sprintf("%v is packet %d of %d of wr=%d, which has %d bytes", o, off, span, wr.ID, wr.Len)
	case kind == rule.Atomic:
		return unlikeAtomic(t, p)
	}
	if off == 0 {
		if wrong := unlikePlace(t, p); wrong != "" {
			return wrong
		}
	}
	if length := lengthAt(wr.Len, off, mtu); !whole && p.Len != length {
		return fmt.Sprintf("%v has %d bytes, wr=%d has %d there", o, p.Len, wr.ID, length)
	}
	return unlikeEnd(t, p, last && !whole)
}

// lengthAt returns the payload of packet off of a message of n bytes.
func lengthAt(n uint32, off, mtu int) int {
	if mtu == 0 {
		return int(n)
	}
	return min(mtu, max(0, int(n)-off*mtu))
}

// unlikePlace compares address, key and length.
func unlikePlace(t *task, p *roce.Packet) string {
	wr := &t.wr
	if p.Opcode.Layout()&roce.LayoutRETH == 0 {
		return ""
	}
	switch {
	case p.RETH.DMALen != wr.Len:
		return fmt.Sprintf("%v has DMALen %d, wr=%d has %d bytes", p.Opcode, p.RETH.DMALen, wr.ID, wr.Len)
	case t.place && p.RETH.VA != wr.RemoteVA:
		return fmt.Sprintf("%v acts on %#x, wr=%d on %#x", p.Opcode, p.RETH.VA, wr.ID, wr.RemoteVA)
	case t.place && p.RETH.RKey != wr.RKey:
		return fmt.Sprintf("%v has the key %#x, wr=%d has %#x", p.Opcode, p.RETH.RKey, wr.ID, wr.RKey)
	}
	return ""
}

// unlikeEnd compares the headers that only the last packet of a SEND or WRITE has.
func unlikeEnd(t *task, p *roce.Packet, last bool) string {
	wr, o := &t.wr, p.Opcode
	switch {
	case !last:
	case o.HasImm() != hasImm(wr.Op):
		return fmt.Sprintf("%v ends wr=%d, a %v", o, wr.ID, wr.Op)
	case o.HasImm() && (t.whole || wr.Imm != 0) && p.Imm != wr.Imm:
		return fmt.Sprintf("%v has the immediate %#x, wr=%d has %#x", o, p.Imm, wr.ID, wr.Imm)
	case (o.Layout()&roce.LayoutIETH != 0) != (wr.Op == engine.OpSendInv):
		return fmt.Sprintf("%v ends wr=%d, a %v", o, wr.ID, wr.Op)
	case wr.Op == engine.OpSendInv && t.whole && p.InvKey != wr.InvKey:
		return fmt.Sprintf("%v invalidates %#x, wr=%d %#x", o, p.InvKey, wr.ID, wr.InvKey)
	}
	return ""
}

// unlikeAtomic compares an atomic.
func unlikeAtomic(t *task, p *roce.Packet) string {
	wr := &t.wr
	swap := wr.Op == engine.OpCompareSwap
	switch {
	case p.Opcode == roce.CompareSwap && !swap, p.Opcode == roce.FetchAdd && swap:
		return fmt.Sprintf("%v is sent where wr=%d, a %v, was posted", p.Opcode, wr.ID, wr.Op)
	case t.place && (p.RETH.VA != wr.RemoteVA || p.RETH.RKey != wr.RKey):
		return fmt.Sprintf("%v acts on %#x with key %#x, wr=%d on %#x with %#x", p.Opcode, p.RETH.VA, p.RETH.RKey,
			wr.ID, wr.RemoteVA, wr.RKey)
	case t.whole && (p.Atomic.SwapAdd != wr.SwapAdd || swap && p.Atomic.Compare != wr.Compare):
		return fmt.Sprintf("%v has the operands %#x and %#x, wr=%d %#x and %#x", p.Opcode, p.Atomic.SwapAdd,
			p.Atomic.Compare, wr.ID, wr.SwapAdd, wr.Compare)
	}
	return ""
}
