package injector

import (
	"slices"

	"github.com/cilium/ebpf/asm"

	"github.com/rdma-gauntlet/gauntlet/netem/fault"
)

// fits continues when a frame meets the criteria of a fault that need no counter, and otherwise jumps to not.
func (w *writer) fits(f *indexed, not string) {
	if f.QP != fault.AnyQP {
		w.add(load(asm.R1, sConn), asm.JNE.Imm(asm.R1, int32(f.QP), not))
	}
	if f.PSN.Given {
		w.add(load(asm.R1, sOffset), asm.JSLT.Imm(asm.R1, int32(f.PSN.From), not),
			asm.JSGT.Imm(asm.R1, int32(f.PSN.To), not))
		if f.Type == "" {
			w.add(load(asm.R1, sClass), asm.JEq.Imm(asm.R1, classes[fault.FEC], not))
		}
	}
	if f.Type == "" {
		return
	}
	class, isClass := classes[fault.Class(f.Type)]
	kinds := w.dialect.named(f.Type)
	yes := w.fresh()
	if isClass {
		w.add(load(asm.R1, sClass), asm.JEq.Imm(asm.R1, class, yes))
	}
	w.add(load(asm.R1, sKind))
	for _, k := range kinds {
		w.add(asm.JEq.Imm(asm.R1, int32(k), yes))
	}
	w.add(asm.Ja.Label(not))
	w.label(yes)
}

// transmission counts the transmissions of the packet, if a fault that needs the number fits it.
func (w *writer) transmission() {
	if !slices.ContainsFunc(w.faults, func(f indexed) bool { return f.Tx != 0 }) {
		return
	}
	all := false
	for i := range w.faults {
		if f := &w.faults[i]; f.Tx != 0 {
			not := w.fresh()
			w.fits(f, not)
			if any := f.QP == fault.AnyQP && !f.PSN.Given && f.Type == ""; any {
				all = true
				break
			}
			w.add(asm.Ja.Label("tally"))
			w.label(not)
		}
	}
	if !all {
		w.add(asm.Ja.Label("no tally")) // the verifier rejects unreachable instructions
	}
	w.label("tally")
	w.add(asm.StoreImm(asm.RFP, sTally, int64(w.side), asm.Word), load(asm.R1, sConn), asm.StoreMem(asm.RFP, sTally+4,
		asm.R1, asm.Word), load(asm.R1, sKind), asm.StoreMem(asm.RFP, sTally+12, asm.R1, asm.Word))
	w.look("again")
	w.add(asm.Mov.Imm(asm.R1, 1), keep(sTx, asm.R1))
	w.add(asm.LoadMapPtr(asm.R1, w.memory.tally.FD()), asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, sTally),
		// BPF_NOEXIST
		asm.Mov.Reg(asm.R3, asm.RFP), asm.Add.Imm(asm.R3, sTx), asm.Mov.Imm(asm.R4, 1), asm.FnMapUpdateElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "no tally"))
	w.look("again") // another processor may have added it first
	w.add(count(cUntracked)...)
	w.add(asm.Mov.Imm(asm.R1, 0), keep(sTx, asm.R1), asm.Ja.Label("no tally"))
	w.label("again")
	w.add(asm.Mov.Imm(asm.R1, 1), fetchAdd(asm.R0, asm.R1, 0), asm.Add.Imm(asm.R1, 1), keep(sTx, asm.R1))
	w.label("no tally")
}

// look jumps to found, with R0 pointing at the count, when the packet has been sent before.
func (w *writer) look(found string) {
	w.add(asm.LoadMapPtr(asm.R1, w.memory.tally.FD()), asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, sTally),
		asm.FnMapLookupElem.Call(),
		asm.JNE.Imm(asm.R0, 0, found))
}

// fault counts a frame that matches a fault, and records the fault's effect on it. Of the matching frames those from
// the Nth on are hit, up to the limit; each matching frame has a number here, which is compared with the two.
func (w *writer) fault(f *indexed) {
	not := w.fresh()
	w.fits(f, not)
	if f.Tx != 0 {
		w.add(load(asm.R1, sTx), asm.JNE.Imm(asm.R1, int32(f.Tx), not))
	}
	w.stored(asm.R2, faultsAt+f.index*faultLen)
	w.add(asm.Mov.Imm(asm.R1, 1), fetchAdd(asm.R2, asm.R1, 0))
	first := uint64(max(f.Nth, 1) - 1)
	if first > 0 {
		w.add(asm.LoadImm(asm.R3, int64(first), asm.DWord), asm.JLT.Reg(asm.R1, asm.R3, not))
	}
	if limit := f.Limit(); limit != fault.Every {
		w.add(asm.LoadImm(asm.R3, int64(first+uint64(limit)), asm.DWord), asm.JGE.Reg(asm.R1, asm.R3, not))
	}
	switch f.Action {
	case fault.Drop:
		w.add(asm.Mov.Imm(asm.R1, 1), keep(sDrop, asm.R1))
	case fault.Mark:
		w.add(asm.Mov.Imm(asm.R1, 1), keep(sMark, asm.R1))
	case fault.Duplicate:
		few := w.fresh()
		w.add(load(asm.R1, sCopies), asm.Add.Imm(asm.R1, int32(f.Copies)), asm.JLE.Imm(asm.R1, fault.MaxCopies, few),
			asm.Mov.Imm(asm.R1, fault.MaxCopies))
		w.label(few)
		w.add(keep(sCopies, asm.R1))
	}
	w.add(load(asm.R1, sGravity), asm.JGE.Imm(asm.R1, gravity[f.Action], not))
	w.add(asm.Mov.Imm(asm.R1, gravity[f.Action]), keep(sGravity, asm.R1), asm.Mov.Imm(asm.R1, int32(f.index)),
		keep(sFault, asm.R1))
	w.label(not)
}

// settle combines loss and faults: a dropping fault precedes the loss process, and a frame that does not arrive is
// neither marked nor duplicated. It updates the counters.
func (w *writer) settle() {
	w.add(load(asm.R1, sDrop), asm.JNE.Imm(asm.R1, 0, "dropped"), load(asm.R1, sLost),
		asm.JEq.Imm(asm.R1, 0, "delivered"))
	w.add(asm.Mov.Imm(asm.R1, byLoss), keep(sGravity, asm.R1))
	w.add(count(cLost)...)
	w.add(asm.Ja.Label("gone"))
	w.label("dropped")
	w.add(count(cDropped)...)
	w.label("gone")
	w.add(asm.Mov.Imm(asm.R1, 0), keep(sMark, asm.R1), keep(sCopies, asm.R1),
		asm.Mov.Imm(asm.R1, 1), keep(sDrop, asm.R1))
	w.label("delivered")
	w.add(load(asm.R1, sMark), asm.AddAtomic.Mem(counters, asm.R1, asm.DWord, cMarked*wordLen))
	w.add(load(asm.R1, sCopies), asm.AddAtomic.Mem(counters, asm.R1, asm.DWord, cCopies*wordLen))
	w.add(load(asm.R1, sGravity), asm.JEq.Imm(asm.R1, byNobody, "settled"), asm.JEq.Imm(asm.R1, byLoss, "settled"))
	w.stored(asm.R2, faultsAt+wordLen) // counter of the first fault
	w.add(load(asm.R1, sFault), asm.JGE.Imm(asm.R1, MaxFaults, "settled"), asm.LSh.Imm(asm.R1, 4),
		asm.Add.Reg(asm.R2, asm.R1), asm.Mov.Imm(asm.R1, 1), asm.AddAtomic.Mem(asm.R2, asm.R1, asm.DWord, 0))
	w.label("settled")
}

// record logs the frame as received: the whole frame when it is lost, marked or duplicated, else its head and its last
// bytes.
func (w *writer) record() {
	w.add(asm.Mov.Imm(asm.R1, 0), asm.StoreMem(asm.RFP, sTally, asm.R1, asm.Word)) // key of the only element
	w.add(asm.LoadMapPtr(asm.R1, w.memory.scratch.FD()), asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, sTally),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "unlogged"), asm.Mov.Reg(transport, asm.R0))
	put := func(at int16, from int16, size asm.Size) {
		w.add(load(asm.R1, from), asm.StoreMem(transport, at, asm.R1, size))
	}
	put(0, sNumber, asm.DWord)
	w.add(asm.FnKtimeGetNs.Call(), asm.StoreMem(transport, 8, asm.R0, asm.DWord))
	put(16, sLength, asm.Word)
	w.add(asm.StoreImm(transport, 24, int64(w.side), asm.Word))
	put(28, sFault, asm.Word)
	put(32, sGravity, asm.Word)
	put(36, sCopies, asm.Word)
	put(40, sMark, asm.Word)
	w.add(asm.Mov.Reg(asm.R1, frame), load(asm.R2, sLength), asm.Sub.Imm(asm.R2, 4), asm.Mov.Reg(asm.R3, transport),
		asm.Add.Imm(asm.R3, 44),
		asm.Mov.Imm(asm.R4, 4), asm.FnSkbLoadBytes.Call())
	w.add(load(rest, sLength), load(asm.R1, sGravity), asm.JNE.Imm(asm.R1, byNobody, "whole"))
	w.add(asm.JLE.Imm(rest, headLen, "whole"), asm.Mov.Imm(rest, headLen))
	w.label("whole")
	w.add(asm.JGT.Imm(rest, frameMost, "unlogged"), asm.JLT.Imm(rest, 1, "unlogged"),
		asm.StoreMem(transport, 20, rest, asm.Word))
	w.add(asm.Mov.Reg(asm.R1, frame), asm.Mov.Imm(asm.R2, 0), asm.Mov.Reg(asm.R3, transport), asm.Add.Imm(asm.R3,
		recordLen), asm.Mov.Reg(asm.R4, rest), asm.FnSkbLoadBytes.Call(), asm.JNE.Imm(asm.R0, 0, "unlogged"))
	w.add(asm.LoadMapPtr(asm.R1, w.memory.log.FD()), asm.Mov.Reg(asm.R2, transport), asm.Mov.Reg(asm.R3, rest),
		asm.Add.Imm(asm.R3, recordLen),
		// BPF_RB_NO_WAKEUP: the reader polls
		asm.Mov.Imm(asm.R4, 1), asm.FnRingbufOutput.Call(), asm.JEq.Imm(asm.R0, 0, "logged"))
	w.label("unlogged")
	w.add(count(cUnlogged)...)
	w.label("logged")
}

// act carries out the decision.
func (w *writer) act() {
	w.add(load(asm.R1, sDrop), asm.JEq.Imm(asm.R1, 0, "goes on"), asm.Mov.Imm(asm.R0, shot), asm.Return())
	w.label("goes on")
	w.add(load(asm.R1, sMark), asm.JEq.Imm(asm.R1, 0, "marked"))
	w.mark()
	w.label("marked")
	w.add(load(rest, sCopies), asm.JNE.Imm(rest, 0, "copy"), asm.Mov.Imm(asm.R0, goOn), asm.Return())
	w.label("copy")
	w.copies()
	w.add(asm.Mov.Imm(asm.R0, goOn), asm.Return())
}

// mark sets the ECN bits to CE and updates the header checksum, as a router does, if the frame has an IPv4 header and
// is long enough for UDP.
func (w *writer) mark() {
	const least = ethLen + ipv4Len + udpLen + 4 + trailer
	w.add(load(asm.R1, sLength), asm.JLT.Imm(asm.R1, least, "marked"))
	w.add(half(asm.R1, sIP-2)...)
	w.add(asm.JNE.Imm(asm.R1, etherIPv4, "marked"), asm.LoadMem(asm.R1, asm.RFP, sIP, asm.Byte), asm.JNE.Imm(asm.R1,
		0x45, "marked"), asm.LoadMem(asm.R1, asm.RFP, sIP+atProto, asm.Byte), asm.JNE.Imm(asm.R1, protoUDP, "marked"))
	w.add(asm.LoadMem(asm.R1, asm.RFP, sIP+1, asm.Byte), asm.Or.Imm(asm.R1, 3),
		asm.StoreMem(asm.RFP, sIP+1, asm.R1, asm.Byte), asm.Mov.Imm(asm.R1, 0),
		asm.StoreMem(asm.RFP, sIP+atSum, asm.R1, asm.Half), asm.Mov.Imm(asm.R4, ipv4Len))
	w.add(headerSum()...)
	w.add(asm.Xor.Imm(asm.R0, 0xFFFF), asm.StoreMem(asm.RFP, sIP+atSum, asm.R0, asm.Half))
	w.add(asm.Mov.Reg(asm.R1, frame), asm.Mov.Imm(asm.R2, ethLen), asm.Mov.Reg(asm.R3, asm.RFP),
		asm.Add.Imm(asm.R3, sIP), asm.Mov.Imm(asm.R4, ipv4Len), asm.Mov.Imm(asm.R5, 0), asm.FnSkbStoreBytes.Call())
}

// copies sends the number of copies in rest. They pass this hook again, where their mark identifies them. Copies are
// made of the frame as it is sent, so that their order does not matter.
func (w *writer) copies() {
	w.add(asm.LoadMem(transport, frame, 8, asm.Word), asm.Mov.Imm32(asm.R1, ours),
		asm.StoreMem(frame, 8, asm.R1, asm.Word))
	w.label("next copy")
	w.add(asm.Mov.Reg(asm.R1, frame), asm.Mov.Imm(asm.R2, int32(w.device)), asm.Mov.Imm(asm.R3, 0),
		asm.FnCloneRedirect.Call(), asm.JEq.Imm(asm.R0, 0, "copied"))
	w.add(count(cUncopied)...)
	w.label("copied")
	w.add(asm.Sub.Imm(rest, 1), asm.JGT.Imm(rest, 0, "more copies"), asm.StoreMem(frame, 8, transport, asm.Word),
		asm.Ja.Label("all copied"))
	w.label("more copies")
	w.add(asm.JLT.Imm(rest, fault.MaxCopies, "next copy"))
	w.label("all copied")
}
