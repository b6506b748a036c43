package injector

import (
	"github.com/cilium/ebpf/asm"

	"github.com/rdma-gauntlet/gauntlet/netem/fault"
)

// identify identifies the packet of the frame, as the Classifier of the relay does: connection, offset of the PSN, kind
// and class. A frame that does not decode is malformed, without connection and PSN.
func (w *writer) identify() {
	w.add(asm.Mov.Imm(asm.R1, -1), keep(sConn, asm.R1), asm.Mov.Imm(asm.R1, nowhere), keep(sOffset, asm.R1),
		asm.Mov.Imm(asm.R1, malformed), keep(sKind, asm.R1))
	w.readIP()
	w.readUDP()
	w.readKind()
	w.readNumbers()
	w.add(asm.Ja.Label("identified"))
	w.label("unread")
	w.add(count(cUnread)...)
	w.label("identified")
}

// readIP leaves the number of bytes after the IP header in transport. A frame with a VLAN tag or of IPv6, or a later
// fragment, is unread.
func (w *writer) readIP() {
	w.add(half(asm.R2, sIP-2)...)
	w.add(asm.JEq.Imm(asm.R2, etherVLAN, "unread"), asm.JEq.Imm(asm.R2, etherIPv6, "unread"), asm.JNE.Imm(asm.R2,
		etherIPv4, "identified"))
	w.add(load(asm.R4, sLength), asm.JLT.Imm(asm.R4, ethLen+ipv4Len, "identified"))
	w.add(asm.LoadMem(asm.R2, asm.RFP, sIP, asm.Byte), asm.JNE.Imm(asm.R2, 0x45, "identified"))
	w.add(half(transport, sIP+atLength)...)
	w.add(asm.JLT.Imm(transport, ipv4Len, "identified"), asm.Sub.Imm(asm.R4, ethLen),
		asm.JGT.Reg(transport, asm.R4, "identified"))
	w.add(asm.Sub.Imm(transport, ipv4Len))
	w.add(asm.LoadMem(asm.R2, asm.RFP, sIP+atProto, asm.Byte), asm.JEq.Imm(asm.R2, protoUDP, "ip"), asm.JNE.Imm(asm.R2,
		protoTCP, "identified"))
	w.label("ip")
	w.add(half(asm.R3, sIP+atFlags)...)
	if w.dialect.Others != 0 { // only packets of that protocol are fragmented
		w.add(asm.Mov.Reg(asm.R5, asm.R3), asm.And.Imm(asm.R5, 0x1FFF), asm.JNE.Imm(asm.R5, 0, "unread"))
	}
}

// readUDP leaves the number of bytes after the UDP header in transport. R2 is the protocol, R3 the flags of the IP
// header.
func (w *writer) readUDP() {
	w.add(asm.JLT.Imm(transport, udpLen, "identified"))
	w.add(half(asm.R4, sUDP)...)
	w.add(half(asm.R5, sUDP+2)...)
	if other := int32(w.dialect.Others); other != 0 {
		w.add(asm.JEq.Imm(asm.R5, other, "unread"), asm.JNE.Imm(asm.R4, other, "port"), asm.JNE.Imm(asm.R5,
			int32(w.dialect.Port), "unread"))
	}
	w.label("port")
	w.add(asm.JNE.Imm(asm.R2, protoUDP, "identified"), asm.JNE.Imm(asm.R5, int32(w.dialect.Port), "identified"))
	w.add(asm.And.Imm(asm.R3, 0x3FFF), asm.JNE.Imm(asm.R3, 0, "identified"))
	w.add(half(asm.R4, sUDP+4)...)
	w.add(asm.JNE.Reg(asm.R4, transport, "identified"), asm.Sub.Imm(transport, udpLen))
}

// readKind looks up the kind, and leaves its row in R5 and its flags in R4.
func (w *writer) readKind() {
	w.add(asm.JLT.Imm(transport, StatusAt, "identified"))
	w.add(asm.LoadMem(asm.R1, asm.RFP, sBTH, asm.Byte))
	w.row()
	w.add(asm.JSet.Imm(asm.R4, kSub, "by second code"), asm.Ja.Label("row"))
	w.label("by second code")
	w.add(asm.LoadMem(asm.R1, asm.RFP, sBTH+SubAt, asm.Byte), asm.JLT.Imm(asm.R1, bySubCode, "second code"),
		asm.Mov.Imm(asm.R1, 0))
	w.label("second code")
	w.add(asm.Add.Imm(asm.R1, byCode))
	w.row()
	w.label("row")
	w.add(asm.JSet.Imm(asm.R4, kKnown, "known code"), asm.Ja.Label("identified"))
	w.label("known code")
	w.measure()
}

// row points R5 at the row of the kind in R1, and loads its flags into R4 and onto the stack. It leaves the kind in R2.
func (w *writer) row() {
	w.add(asm.Mov.Reg(asm.R2, asm.R1), asm.LSh.Imm(asm.R1, 3))
	w.stored(asm.R5, kindsAt)
	w.add(asm.Add.Reg(asm.R5, asm.R1), asm.LoadMem(asm.R4, asm.R5, 0, asm.Byte), keep(sFlags, asm.R4))
}

// measure compares the length of the packet with the parts that its kind has: header, checksum, payload, padding.
func (w *writer) measure() {
	w.add(asm.LoadMem(asm.R3, asm.R5, 2, asm.Byte), asm.Add.Imm(asm.R3, trailer),
		asm.JLT.Reg(transport, asm.R3, "identified"))
	w.add(asm.Mov.Reg(rest, transport), asm.Sub.Reg(rest, asm.R3))
	w.add(asm.JSet.Imm(asm.R4, kPayload, "with payload"), asm.JNE.Imm(rest, 0, "identified"))
	w.label("with payload")
	w.add(asm.JSet.Imm(asm.R4, kWords, "in words"), asm.Ja.Label("measured"))
	w.label("in words")
	w.add(asm.LoadMem(asm.R3, asm.RFP, sBTH+1, asm.Byte), asm.RSh.Imm(asm.R3, 4), asm.And.Imm(asm.R3, 3),
		asm.JGT.Reg(asm.R3, rest, "identified"))
	w.add(asm.JSet.Imm(rest, 3, "identified"))
	w.label("measured")
}

// readNumbers reads connection, PSN and class. R5 is the row, R4 its flags, R2 the kind.
func (w *writer) readNumbers() {
	w.shapes() // R1 is the QP, R3 the PSN
	w.add(keep(sKind, asm.R2), asm.StoreMem(asm.RFP, sTally+8, asm.R3, asm.Word))
	w.add(asm.LoadMem(asm.R2, asm.R5, 1, asm.Byte), keep(sClass, asm.R2))
	w.add(asm.JEq.Imm(asm.R1, int32(w.dialect.Reserved), "reserved"))
	w.conn()
	w.offset()
	w.add(load(asm.R4, sFlags), asm.Ja.Label("class"))
	w.label("reserved")
	w.add(asm.JSet.Imm(asm.R4, kSetup, "setup"))
	w.label("class")
	w.class()
	w.label("setup")
	w.add(asm.Mov.Imm(asm.R1, classes[fault.CM]), keep(sClass, asm.R1))
}

// class sets the class of answers by their status. R4 holds the flags of the kind.
func (w *writer) class() {
	w.add(asm.JSet.Imm(asm.R4, kStatus, "status"), asm.Ja.Label("identified"))
	w.label("status")
	w.add(asm.LoadMem(asm.R1, asm.RFP, sBTH+StatusAt, asm.Byte), asm.RSh.Imm(asm.R1, 5))
	w.add(asm.JEq.Imm(asm.R1, 1, "rnr"), asm.JNE.Imm(asm.R1, 3, "identified"))
	w.add(asm.Mov.Imm(asm.R1, classes[fault.NAK]), keep(sClass, asm.R1), asm.Ja.Label("identified"))
	w.label("rnr")
	w.add(asm.Mov.Imm(asm.R1, classes[fault.RNR]), keep(sClass, asm.R1), asm.Ja.Label("identified"))
}

// shapes reads the two numbers of a packet at the offsets of its kind.
func (w *writer) shapes() {
	list, _ := w.dialect.shapes()
	done := w.fresh()
	w.add(asm.LoadMem(asm.R0, asm.R5, 3, asm.Byte))
	for i, s := range list {
		next := w.fresh()
		if i < len(list)-1 {
			w.add(asm.JNE.Imm(asm.R0, int32(i), next))
		}
		if s.Length != 0 {
			w.add(half(asm.R1, sBTH+int16(s.Length))...)
			w.add(asm.JNE.Reg(asm.R1, rest, "identified"))
		}
		w.add(low24(asm.R1, sBTH+int16(s.QP))...)
		if s.Number != 0 {
			w.add(low24(asm.R3, sBTH+int16(s.Number))...)
		} else {
			w.add(asm.Mov.Imm(asm.R3, 0))
		}
		if i < len(list)-1 {
			w.add(asm.Ja.Label(done))
			w.label(next)
		}
	}
	w.label(done)
}

// conn finds the connection of the QP in R1, which is a QP of the receiving side.
func (w *writer) conn() {
	none := w.fresh()
	w.add(asm.Mov.Imm32(asm.R0, int32(w.dialect.First[1-w.side])), asm.JLT.Reg(asm.R1, asm.R0, none),
		asm.Sub.Reg(asm.R1, asm.R0),
		asm.Mov.Imm32(asm.R0, int32(w.dialect.QPs)), asm.JGE.Reg(asm.R1, asm.R0, none), keep(sConn, asm.R1))
	w.label(none)
}

// offset computes the distance of the PSN in R3 from the start PSN of its half-conversation, as a signed number of 24
// bits.
func (w *writer) offset() {
	const circle, halfCircle = 1<<24 - 1, 1 << 23
	w.add(load(asm.R4, sFlags), asm.Mov.Reg(asm.R1, asm.R4), asm.And.Imm(asm.R1, kBack))
	w.add(asm.JSet.Imm(asm.R4, kTurns, "turns"), asm.Ja.Label("direction"))
	w.label("turns")
	w.add(asm.LoadMem(asm.R2, asm.RFP, sBTH+TurnAt, asm.Byte), asm.And.Imm(asm.R2, TurnMask), asm.JEq.Imm(asm.R2, 0,
		"direction"), asm.Xor.Imm(asm.R1, kBack))
	w.label("direction")
	w.add(asm.Mov.Imm32(asm.R2, int32(w.dialect.Start[w.side])), asm.JEq.Imm(asm.R1, 0, "start"), asm.Mov.Imm32(asm.R2,
		int32(w.dialect.Start[1-w.side])))
	w.label("start")
	w.add(asm.Sub.Reg(asm.R3, asm.R2), asm.Add.Imm(asm.R3, halfCircle), asm.And.Imm(asm.R3, circle), asm.Sub.Imm(asm.R3,
		halfCircle), keep(sOffset, asm.R3))
}
