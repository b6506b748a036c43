package roce

import (
	"strconv"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
)

// Attr is a set of attributes of the text form.
type Attr uint32

// The attributes, in the order in which they print.
const (
	AttrPSN Attr = 1 << iota
	AttrQP
	AttrQKey
	AttrSrcQP
	AttrVA
	AttrRKey
	AttrDMALen
	AttrSwapAdd
	AttrCompare
	AttrFlush
	AttrLen
	AttrImm
	AttrInvKey
	AttrMSN
	AttrResult
	AttrSACK
	AttrLostCnt
	AttrSN
	AttrOffset
	AttrPKey
	AttrPad
	AttrTVer
	AttrResv6
	AttrResv7
	attrSyndrome // printed by kind, see appendSyndrome
)

// OmitForLadder leaves what a ladder shows: opcode, PSN, length, acknowledgement, irregularities and flags.
const OmitForLadder = AttrQP | AttrQKey | AttrSrcQP | AttrVA | AttrRKey | AttrDMALen | AttrSwapAdd | AttrCompare | AttrFlush |
	AttrImm | AttrInvKey | AttrResult | AttrSN | AttrOffset | AttrPKey

// TextOptions choose how a packet prints. The zero value prints everything, with absolute PSNs.
type TextOptions struct {
	Relative bool    // print PSNs as signed distances from Base: psn=+2
	Base     psn.PSN // start PSN for Relative
	Omit     Attr    // attributes to leave out
}

// attr is one key=value of the text form: where it lives, how wide it is, and how it is read and written.
type attr struct {
	name   string
	bit    Attr
	layout Layout // a packet has the attribute when its layout has one of these
	width  int    // bits on the wire
	base   int    // number base in which it prints
	always bool   // print even when zero
	serial bool   // a PSN, which may print relative to a start
	get    func(p *Packet) uint64
	set    func(p *Packet, v uint64)
}

// attrs is the grammar, in printing order. An attribute that is missing from a text is zero, but for the P_Key.
var attrs = [...]attr{
	{name: "psn", bit: AttrPSN, layout: LayoutBTH, width: 24, base: 10, always: true, serial: true,
		get: func(p *Packet) uint64 { return uint64(p.PSN) }, set: func(p *Packet, v uint64) { p.PSN = psn.PSN(v) }},
	{name: "qp", bit: AttrQP, layout: LayoutBTH | LayoutRepair, width: 24, base: 10,
		get: func(p *Packet) uint64 { return uint64(p.DestQP) }, set: func(p *Packet, v uint64) { p.DestQP = uint32(v) }},
	{name: "qkey", bit: AttrQKey, layout: LayoutDETH, width: 32, base: 16,
		get: func(p *Packet) uint64 { return uint64(p.DETH.QKey) }, set: func(p *Packet, v uint64) { p.DETH.QKey = uint32(v) }},
	{name: "srcqp", bit: AttrSrcQP, layout: LayoutDETH, width: 24, base: 10,
		get: func(p *Packet) uint64 { return uint64(p.DETH.SrcQP) }, set: func(p *Packet, v uint64) { p.DETH.SrcQP = uint32(v) }},
	{name: "va", bit: AttrVA, layout: LayoutRETH | LayoutVAETH | LayoutAtomicETH, width: 64, base: 16,
		get: func(p *Packet) uint64 { return p.RETH.VA }, set: func(p *Packet, v uint64) { p.RETH.VA = v }},
	{name: "rkey", bit: AttrRKey, layout: LayoutRETH | LayoutAtomicETH, width: 32, base: 16,
		get: func(p *Packet) uint64 { return uint64(p.RETH.RKey) }, set: func(p *Packet, v uint64) { p.RETH.RKey = uint32(v) }},
	{name: "dmalen", bit: AttrDMALen, layout: LayoutRETH, width: 32, base: 10,
		get: func(p *Packet) uint64 { return uint64(p.RETH.DMALen) }, set: func(p *Packet, v uint64) { p.RETH.DMALen = uint32(v) }},
	{name: "swapadd", bit: AttrSwapAdd, layout: LayoutAtomicETH, width: 64, base: 16,
		get: func(p *Packet) uint64 { return p.Atomic.SwapAdd }, set: func(p *Packet, v uint64) { p.Atomic.SwapAdd = v }},
	{name: "compare", bit: AttrCompare, layout: LayoutAtomicETH, width: 64, base: 16,
		get: func(p *Packet) uint64 { return p.Atomic.Compare }, set: func(p *Packet, v uint64) { p.Atomic.Compare = v }},
	{name: "flush", bit: AttrFlush, layout: LayoutFETH, width: 32, base: 16,
		get: func(p *Packet) uint64 { return uint64(p.Flush) }, set: func(p *Packet, v uint64) { p.Flush = uint32(v) }},
	{name: "len", bit: AttrLen, layout: LayoutPayload, width: 16, base: 10,
		get: func(p *Packet) uint64 { return uint64(p.sizes().payload) }, set: func(p *Packet, v uint64) { p.Len = int(v) }},
	{name: "imm", bit: AttrImm, layout: LayoutImm, width: 32, base: 16,
		get: func(p *Packet) uint64 { return uint64(p.Imm) }, set: func(p *Packet, v uint64) { p.Imm = uint32(v) }},
	{name: "ikey", bit: AttrInvKey, layout: LayoutIETH, width: 32, base: 16,
		get: func(p *Packet) uint64 { return uint64(p.InvKey) }, set: func(p *Packet, v uint64) { p.InvKey = uint32(v) }},
	{name: "msn", bit: AttrMSN, layout: LayoutAETH, width: 24, base: 10, always: true,
		get: func(p *Packet) uint64 { return uint64(p.AETH.MSN) }, set: func(p *Packet, v uint64) { p.AETH.MSN = psn.MSN(v) }},
	{name: "result", bit: AttrResult, layout: LayoutAtomicAckETH, width: 64, base: 16,
		get: func(p *Packet) uint64 { return p.Result }, set: func(p *Packet, v uint64) { p.Result = v }},
	{name: "sack", bit: AttrSACK, layout: LayoutSACKETH, width: 24, base: 10, always: true, serial: true,
		get: func(p *Packet) uint64 { return uint64(p.SACK.PSN) }, set: func(p *Packet, v uint64) { p.SACK.PSN = psn.PSN(v) }},
	{name: "lost", bit: AttrLostCnt, layout: LayoutSACKETH, width: 3, base: 10,
		get: func(p *Packet) uint64 { return uint64(p.SACK.LostCnt) }, set: func(p *Packet, v uint64) { p.SACK.LostCnt = uint8(v) }},
	{name: "sn", bit: AttrSN, layout: LayoutSOETH, width: 24, base: 10,
		get: func(p *Packet) uint64 { return uint64(p.SO.SN) }, set: func(p *Packet, v uint64) { p.SO.SN = uint32(v) }},
	{name: "off", bit: AttrOffset, layout: LayoutSOETH, width: 32, base: 10,
		get: func(p *Packet) uint64 { return uint64(p.SO.Offset) }, set: func(p *Packet, v uint64) { p.SO.Offset = uint32(v) }},
	{name: "pkey", bit: AttrPKey, layout: LayoutBTH, width: 16, base: 16,
		get: func(p *Packet) uint64 { return uint64(p.PKey) }, set: func(p *Packet, v uint64) { p.PKey = uint16(v) }},
	{name: "pad", bit: AttrPad, layout: LayoutBTH, width: 2, base: 10,
		get: irregularPad, set: func(p *Packet, v uint64) { p.Pad = uint8(v) }},
	{name: "tver", bit: AttrTVer, layout: LayoutBTH, width: 4, base: 10,
		get: func(p *Packet) uint64 { return uint64(p.TVer) }, set: func(p *Packet, v uint64) { p.TVer = uint8(v) }},
	{name: "resv6", bit: AttrResv6, layout: LayoutBTH, width: 6, base: 16,
		get: func(p *Packet) uint64 { return uint64(p.Resv6) }, set: func(p *Packet, v uint64) { p.Resv6 = uint8(v) }},
	{name: "resv7", bit: AttrResv7, layout: LayoutBTH, width: 7, base: 16,
		get: func(p *Packet) uint64 { return uint64(p.Resv7) }, set: func(p *Packet, v uint64) { p.Resv7 = uint8(v) }},
}

// irregularPad returns the padding when it is not the right one, else zero: the right one goes without saying.
func irregularPad(p *Packet) uint64 {
	if s := p.sizes(); s.pad != -s.payload&3 {
		return uint64(s.pad)
	}
	return 0
}

// flags are the bits that print as bare words after everything else.
var flags = [...]struct {
	name string
	of   func(p *Packet) *bool
}{
	{"A", func(p *Packet) *bool { return &p.AckReq }},
	{"SE", func(p *Packet) *bool { return &p.SE }},
	{"MIG", func(p *Packet) *bool { return &p.Mig }},
	{"FECN", func(p *Packet) *bool { return &p.FECN }},
	{"BECN", func(p *Packet) *bool { return &p.BECN }},
}

// nakCodes are the words for the codes of a NAK, by code.
var nakCodes = [...]string{"PSN_SEQ_ERR", "INVALID_REQ", "REM_ACCESS", "REM_OP", "INVALID_RD"}

// The first words under which an ACKNOWLEDGE prints, by kind.
const (
	wordACK = "ACK"
	wordNAK = "NAK"
	wordRNR = "RNR"
)

// String returns the one-line text form, which ParsePacket reads back: the opcode, key=value for each attribute that is
// not zero, and the flags. It says everything about a packet except the bytes of its payload.
func (p *Packet) String() string {
	return string(p.AppendText(make([]byte, 0, 128), TextOptions{}))
}

// AppendText appends the text form as opt asks for. With anything omitted, ParsePacket reads back only what is there.
// It allocates only when b lacks room, so that a long trace can be printed line by line into one buffer.
func (p *Packet) AppendText(b []byte, opt TextOptions) []byte {
	b = append(b, p.word()...)
	layout := p.Opcode.Layout()
	for i := range attrs {
		if a := &attrs[i]; a.layout&layout != 0 && a.bit&opt.Omit == 0 {
			b = a.append(b, p, &opt)
		}
	}
	if layout&LayoutAETH != 0 {
		b = p.appendSyndrome(b)
	}
	if layout&LayoutBTH == 0 {
		return b
	}
	for i := range flags {
		if *flags[i].of(p) {
			b = append(append(b, ' '), flags[i].name...)
		}
	}
	return b
}

// word returns what the text begins with: the opcode, or the kind of an ACKNOWLEDGE.
func (p *Packet) word() string {
	s := p.AETH.Syndrome
	switch {
	case p.Opcode != Acknowledge:
	case s.IsACK():
		return wordACK
	case s.IsRNR():
		return wordRNR
	case s.IsNAK():
		return wordNAK
	}
	return p.Opcode.String()
}

// append prints one attribute unless it has its default.
func (a *attr) append(b []byte, p *Packet, opt *TextOptions) []byte {
	v := a.get(p) & (1<<a.width - 1)
	if a.bit == AttrPKey && v == DefaultPKey || v == 0 && !a.always && a.bit != AttrPKey {
		return b
	}
	b = append(append(append(b, ' '), a.name...), '=')
	switch {
	case a.serial && opt.Relative:
		d := psn.PSN(v).Sub(opt.Base)
		if d >= 0 {
			b = append(b, '+')
		}
		return strconv.AppendInt(b, int64(d), 10)
	case a.base == 16:
		b = append(b, "0x"...)
	}
	return strconv.AppendUint(b, v, a.base)
}

// appendSyndrome prints the kind of acknowledgement in its own terms; an ACK without credit information prints nothing.
func (p *Packet) appendSyndrome(b []byte) []byte {
	s := p.AETH.Syndrome
	low := int64(s & 0x1F)
	switch {
	case s == SyndromeACK:
		return b
	case s.IsACK():
		return strconv.AppendInt(append(b, " credit="...), low, 10)
	case s.IsRNR():
		return strconv.AppendInt(append(b, " timer="...), low, 10)
	case s.IsNAK() && int(low) < len(nakCodes):
		return append(append(b, ' '), nakCodes[low]...)
	case s.IsNAK():
		return strconv.AppendInt(append(b, " code="...), low, 10)
	}
	return strconv.AppendInt(append(b, " syndrome="...), int64(s), 10)
}
