package injector

import (
	"fmt"

	"github.com/cilium/ebpf/asm"

	"github.com/rdma-gauntlet/gauntlet/netem/fault"
)

// Results of the program: continue with the next program of the hook, or drop the frame.
const (
	goOn = -1 // TCX_NEXT, TC_ACT_UNSPEC
	shot = 2  // TCX_DROP, TC_ACT_SHOT
)

// ours is the mark of copies that a program has made, which pass the same hook: "gnlt".
const ours = 0x676E6C74

// Offsets from the frame pointer of the program's values for the current frame. The length of the head is chosen so
// that the IP header, and with it every field behind an IHL of five words, is aligned.
const (
	sHead     = -headLen       // first bytes of the frame, followed by zeros if it is shorter
	sIP       = sHead + ethLen // -64
	sUDP      = sIP + 20       // -44
	sBTH      = sUDP + 8       // -36: start of the offsets in a Dialect
	sNumber   = -80 - 8        // number of the frame in its direction
	sLength   = sNumber - 8    // length of the frame, in bytes
	sFlags    = sLength - 8    // flags of its kind; free afterwards
	sConn     = sFlags - 8     // connection, -1 is none
	sOffset   = sConn - 8      // offset of the PSN from its start
	sKind     = sOffset - 8    // kind: the type in fault scripts
	sClass    = sKind - 8      //
	sTx       = sClass - 8     // number of the transmission, from 1; 0 when no fault needs it
	sLost     = sTx - 8        // the loss process has drawn a loss
	sDrop     = sLost - 8      // a fault drops the frame
	sCopies   = sDrop - 8      //
	sMark     = sCopies - 8    //
	sGravity  = sMark - 8      // gravity of the gravest fault, 0 is none
	sFault    = sGravity - 8   // index of this fault in the script
	sTally    = sFault - 16    // key: side, connection, PSN, kind
	sWords    = sTally         // lowest offset in use
	nowhere   = -(1 << 24)     // offset of a frame without a PSN: outside every span
	rest      = asm.R9         // bytes after the header
	frame     = asm.R6         // the context
	counters  = asm.R7         // counters of the side
	transport = asm.R8         // bytes after the UDP header
)

// tallyKeyLen is the length of a packet's key in the count of transmissions.
const tallyKeyLen = 16

// Causes in the log. Those of faults are ordered by gravity, as in package fault.
const (
	byNobody    = 0
	byDuplicate = 1
	byMark      = 2
	byDrop      = 3
	byLoss      = 4
)

// gravity ranks actions by how far they keep a packet from arriving as it was sent.
var gravity = map[fault.Action]int32{fault.Duplicate: byDuplicate, fault.Mark: byMark, fault.Drop: byDrop}

// writer assembles the program for one side.
type writer struct {
	side    int // the sender
	memory  *memory
	dialect *Dialect
	faults  []indexed // faults of the side
	lossy   bool
	device  int // index of the device by which the frames leave

	code    asm.Instructions
	pending string // label of the next instruction
	unique  int    // number of labels from fresh
}

// indexed is a fault and its index in the script.
type indexed struct {
	fault.Fault
	index int
}

// add appends instructions.
func (w *writer) add(list ...asm.Instruction) {
	if w.pending != "" {
		list[0] = list[0].WithSymbol(w.pending)
		w.pending = ""
	}
	w.code = append(w.code, list...)
}

// label names the next instruction.
func (w *writer) label(name string) {
	if w.pending != "" {
		w.add(asm.Mov.Imm(asm.R0, 0)) // R0 holds no value from one step to the next
	}
	w.pending = name
}

// fresh returns a label that is not in use.
func (w *writer) fresh() string {
	w.unique++
	return fmt.Sprintf("l%d", w.unique)
}

// load reads a word of the stack.
func load(r asm.Register, at int16) asm.Instruction { return asm.LoadMem(r, asm.RFP, at, asm.DWord) }

// keep writes a word of the stack.
func keep(at int16, r asm.Register) asm.Instruction { return asm.StoreMem(asm.RFP, at, r, asm.DWord) }

// fetchAdd adds src to a word and loads the previous value into src. The library's own form loses the fetch flag of the
// instruction, which makes it an addition without result.
func fetchAdd(dst, src asm.Register, at int16) asm.Instruction {
	ins := asm.FetchAdd.Mem(dst, src, asm.DWord, at)
	ins.Constant = int64(asm.FetchAdd) >> 8
	return ins
}

// count adds one to a counter of the side.
func count(which int) asm.Instructions {
	return asm.Instructions{asm.Mov.Imm(asm.R1, 1),
		asm.AddAtomic.Mem(counters, asm.R1, asm.DWord, int16(which*wordLen))}
}

// stored points r at a byte of the state.
func (w *writer) stored(r asm.Register, at int) {
	w.add(asm.LoadMapValue(r, w.memory.state.FD(), uint32(at)))
}

// program assembles the whole program.
func (w *writer) program() asm.Instructions {
	w.begin()
	w.leaveForeign()
	w.number()
	if w.lossy {
		w.draw()
	}
	if len(w.faults) > 0 {
		w.identify()
		w.transmission()
		for i := range w.faults {
			w.fault(&w.faults[i])
		}
	}
	w.settle()
	if w.memory.log != nil {
		w.record()
	}
	w.act()
	return w.code
}

// begin lets copies made by a program pass, and reads the head of the frame.
func (w *writer) begin() {
	w.add(asm.Mov.Reg(frame, asm.R1), asm.LoadMem(asm.R2, frame, 8, asm.Word)) // mark
	w.add(asm.Mov.Imm32(asm.R3, ours), asm.JEq.Reg32(asm.R2, asm.R3, "pass"))
	w.stored(counters, w.side*sideLen)
	w.add(asm.Mov.Imm(asm.R1, 0))
	for at := -8; at >= sWords; at -= 8 {
		w.add(keep(int16(at), asm.R1))
	}
	w.add(asm.LoadMem(asm.R4, frame, 0, asm.Word), keep(sLength, asm.R4)) // len
	w.add(asm.JLT.Imm(asm.R4, ethLen, "pass"))
	w.add(asm.JLE.Imm(asm.R4, headLen, "short"), asm.Mov.Imm(asm.R4, headLen))
	w.label("short")
	w.add(asm.Mov.Reg(asm.R1, frame), asm.Mov.Imm(asm.R2, 0), asm.Mov.Reg(asm.R3, asm.RFP), asm.Add.Imm(asm.R3, sHead),
		asm.FnSkbLoadBytes.Call(), asm.JNE.Imm(asm.R0, 0, "pass"))
}

// half reads a half word of the head in host order.
func half(r asm.Register, at int16) asm.Instructions {
	return asm.Instructions{asm.LoadMem(r, asm.RFP, at, asm.Half), asm.HostTo(asm.BE, r, asm.Half)}
}

// low24 reads a word of the head in host order and keeps its lower 24 bits.
func low24(r asm.Register, at int16) asm.Instructions {
	return asm.Instructions{asm.LoadMem(r, asm.RFP, at, asm.Word),
		asm.HostTo(asm.BE, r, asm.Word), asm.And.Imm(r, 0xFFFFFF)}
}

// Protocol numbers, offsets and lengths of Ethernet and IP.
const (
	etherIPv4 = 0x0800
	etherARP  = 0x0806
	etherVLAN = 0x8100
	etherIPv6 = 0x86DD
	protoHops = 0
	protoICMP = 1
	protoIGMP = 2
	protoTCP  = 6
	protoUDP  = 17
	protoIPv6 = 58 // ICMPv6
	atLength  = 2  // this and the next three: offsets in an IPv4 header
	atFlags   = 6
	atProto   = 9
	atSum     = 10
	ipv4Len   = 20
	ipv6Len   = 40
	udpLen    = 8
)

// leaveForeign lets frames pass that a kernel sends on its own account: ARP, ICMP, IGMP and their IPv6 counterparts. A
// packet whose damaged header names one of these protocols over IPv4 has the wrong header checksum, and is processed.
func (w *writer) leaveForeign() {
	w.add(half(asm.R2, sIP-2)...)
	w.add(asm.JEq.Imm(asm.R2, etherARP, "pass"))
	w.add(asm.JEq.Imm(asm.R2, etherIPv6, "foreign6"), asm.JNE.Imm(asm.R2, etherIPv4, "known"))
	w.add(load(asm.R4, sLength), asm.JLT.Imm(asm.R4, ethLen+ipv4Len, "known"))
	w.add(asm.LoadMem(asm.R2, asm.RFP, sIP, asm.Byte), asm.Mov.Reg(asm.R3, asm.R2), asm.RSh.Imm(asm.R3, 4),
		asm.JNE.Imm(asm.R3, 4, "known"))
	w.add(asm.LoadMem(asm.R3, asm.RFP, sIP+atProto, asm.Byte), asm.JEq.Imm(asm.R3, protoICMP, "sum"),
		asm.JNE.Imm(asm.R3, protoIGMP, "known"))
	w.label("sum")
	w.add(asm.And.Imm(asm.R2, 15), asm.LSh.Imm(asm.R2, 2), asm.JLT.Imm(asm.R2, ipv4Len, "known"))
	w.add(asm.Sub.Imm(asm.R4, ethLen), asm.JGT.Reg(asm.R2, asm.R4, "known"), asm.Mov.Reg(asm.R4, asm.R2))
	w.add(headerSum()...)
	w.add(asm.JEq.Imm(asm.R0, 0xFFFF, "pass"), asm.Ja.Label("known"))
	w.label("foreign6")
	w.add(load(asm.R4, sLength), asm.JLT.Imm(asm.R4, ethLen+ipv6Len, "known"))
	w.add(asm.LoadMem(asm.R2, asm.RFP, sIP, asm.Byte), asm.RSh.Imm(asm.R2, 4), asm.JNE.Imm(asm.R2, 6, "known"))
	w.add(asm.LoadMem(asm.R2, asm.RFP, sIP+6, asm.Byte), asm.JEq.Imm(asm.R2, protoIPv6, "pass"), asm.JNE.Imm(asm.R2,
		protoHops, "known"))
	w.label("pass")
	w.add(asm.Mov.Imm(asm.R0, goOn), asm.Return())
	w.label("known")
}

// headerSum computes in R0 the folded sum of the first R4 bytes of the IP header.
func headerSum() asm.Instructions {
	list := asm.Instructions{asm.Mov.Imm(asm.R1, 0), asm.Mov.Imm(asm.R2, 0), asm.Mov.Reg(asm.R3, asm.RFP),
		asm.Add.Imm(asm.R3, sIP),
		asm.Mov.Imm(asm.R5, 0), asm.FnCsumDiff.Call(), asm.LSh.Imm(asm.R0, 32), asm.RSh.Imm(asm.R0, 32)}
	for range 2 {
		list = append(list, asm.Mov.Reg(asm.R1, asm.R0), asm.RSh.Imm(asm.R1, 16), asm.And.Imm(asm.R0, 0xFFFF),
			asm.Add.Reg(asm.R0, asm.R1))
	}
	return list
}

// number gives the frame the next number of its direction.
func (w *writer) number() {
	w.add(asm.Mov.Imm(asm.R1, 1), fetchAdd(counters, asm.R1, cOffered*wordLen), keep(sNumber, asm.R1))
}

// draw looks up the loss process's decision for that number.
func (w *writer) draw() {
	w.add(load(asm.R1, sNumber), asm.LoadMem(asm.R2, counters, cLimit*wordLen, asm.DWord),
		asm.JLT.Reg(asm.R1, asm.R2, "drawn"))
	w.add(count(cOverrun)...)
	w.add(asm.Ja.Label("loss known"))
	w.label("drawn")
	w.add(asm.LoadMapValue(asm.R2, w.memory.fates.FD(), uint32(w.side*ringLen)))
	w.add(asm.Mov.Reg(asm.R3, asm.R1), asm.And.Imm(asm.R3, ringBits-64), asm.RSh.Imm(asm.R3, 3),
		asm.Add.Reg(asm.R2, asm.R3), asm.LoadMem(asm.R2, asm.R2, 0, asm.DWord), asm.And.Imm(asm.R1, 63),
		asm.RSh.Reg(asm.R2, asm.R1), asm.And.Imm(asm.R2, 1), keep(sLost, asm.R2), asm.JEq.Imm(asm.R2, 0, "loss known"))
	w.add(count(cDrawn)...)
	w.label("loss known")
}
