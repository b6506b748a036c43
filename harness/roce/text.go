package roce

import (
	"encoding/hex"
	"math/bits"
	"strconv"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
)

// Attr is a set of attributes of the text form.
type Attr uint64

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
	AttrRepairType
	AttrBase
	AttrISN
	AttrN
	AttrR
	AttrC
	AttrEpoch
	AttrLastLen
	AttrCheck
	AttrVersion
	AttrMissed
	AttrRecovered
	AttrUnrecoverable
	AttrPKey
	AttrPad
	AttrTVer
	AttrResv6
	AttrResv7
	AttrIPID
	AttrFragment
	AttrData     // the bytes of a packet that has no BTH; printed in hexadecimal
	attrSyndrome // printed by kind, see appendSyndrome
)

// OmitForLadder omits all but the parts that a ladder shows: opcode, PSN, length, acknowledgement, irregularities and
// flags.
const OmitForLadder = AttrQP | AttrQKey | AttrSrcQP | AttrVA | AttrRKey | AttrDMALen |
	AttrSwapAdd | AttrCompare | AttrFlush |
	AttrImm | AttrInvKey | AttrResult | AttrSN | AttrOffset | AttrLastLen | AttrCheck | AttrPKey | AttrData

// TextOptions choose how a packet prints. The zero value prints everything, with absolute PSNs.
type TextOptions struct {
	Relative bool    // print PSNs as signed distances from Base: psn=+2
	Base     psn.PSN // start PSN for Relative
	Omit     Attr    // attributes to leave out
}

// attr describes one key=value of the text form: its header, its width, and how it is read and written.
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

// attrs is the grammar, in printing order. An attribute that is missing from a text is zero, except the P_Key and the
// version of a repair header.
var attrs = [...]attr{
	{name: "psn", bit: AttrPSN, layout: LayoutBTH, width: 24, base: 10, always: true, serial: true,
		get: func(p *Packet) uint64 { return uint64(p.PSN) }, set: func(p *Packet, v uint64) { p.PSN = psn.PSN(v) }},
	{name: "qp", bit: AttrQP, layout: LayoutBTH | LayoutRepair, width: 24, base: 10,
		get: func(p *Packet) uint64 { return uint64(p.DestQP) }, set: func(p *Packet, v uint64) {
			p.DestQP = uint32(v)
		}},
	{name: "qkey", bit: AttrQKey, layout: LayoutDETH, width: 32, base: 16,
		get: func(p *Packet) uint64 { return uint64(p.DETH.QKey) }, set: func(p *Packet, v uint64) {
			p.DETH.QKey = uint32(v)
		}},
	{name: "srcqp", bit: AttrSrcQP, layout: LayoutDETH, width: 24, base: 10,
		get: func(p *Packet) uint64 { return uint64(p.DETH.SrcQP) }, set: func(p *Packet, v uint64) {
			p.DETH.SrcQP = uint32(v)
		}},
	{name: "va", bit: AttrVA, layout: LayoutRETH | LayoutVAETH | LayoutAtomicETH, width: 64, base: 16,
		get: func(p *Packet) uint64 { return p.RETH.VA }, set: func(p *Packet, v uint64) { p.RETH.VA = v }},
	{name: "rkey", bit: AttrRKey, layout: LayoutRETH | LayoutAtomicETH, width: 32, base: 16,
		get: func(p *Packet) uint64 { return uint64(p.RETH.RKey) }, set: func(p *Packet, v uint64) {
			p.RETH.RKey = uint32(v)
		}},
	{name: "dmalen", bit: AttrDMALen, layout: LayoutRETH, width: 32, base: 10,
		get: func(p *Packet) uint64 { return uint64(p.RETH.DMALen) }, set: func(p *Packet, v uint64) {
			p.RETH.DMALen = uint32(v)
		}},
	{name: "swapadd", bit: AttrSwapAdd, layout: LayoutAtomicETH, width: 64, base: 16,
		get: func(p *Packet) uint64 { return p.Atomic.SwapAdd }, set: func(p *Packet, v uint64) {
			p.Atomic.SwapAdd = v
		}},
	{name: "compare", bit: AttrCompare, layout: LayoutAtomicETH, width: 64, base: 16,
		get: func(p *Packet) uint64 { return p.Atomic.Compare }, set: func(p *Packet, v uint64) {
			p.Atomic.Compare = v
		}},
	{name: "flush", bit: AttrFlush, layout: LayoutFETH, width: 32, base: 16,
		get: func(p *Packet) uint64 { return uint64(p.Flush) }, set: func(p *Packet, v uint64) { p.Flush = uint32(v) }},
	{name: "len", bit: AttrLen, layout: LayoutPayload, width: 16, base: 10,
		get: func(p *Packet) uint64 { return uint64(p.sizes().payload) }, set: func(p *Packet, v uint64) {
			p.Len = int(v)
		}},
	{name: "imm", bit: AttrImm, layout: LayoutImm, width: 32, base: 16,
		get: func(p *Packet) uint64 { return uint64(p.Imm) }, set: func(p *Packet, v uint64) { p.Imm = uint32(v) }},
	{name: "ikey", bit: AttrInvKey, layout: LayoutIETH, width: 32, base: 16,
		get: func(p *Packet) uint64 { return uint64(p.InvKey) }, set: func(p *Packet, v uint64) {
			p.InvKey = uint32(v)
		}},
	{name: "msn", bit: AttrMSN, layout: LayoutAETH, width: 24, base: 10, always: true,
		get: func(p *Packet) uint64 { return uint64(p.AETH.MSN) }, set: func(p *Packet, v uint64) {
			p.AETH.MSN = psn.MSN(v)
		}},
	{name: "result", bit: AttrResult, layout: LayoutAtomicAckETH, width: 64, base: 16,
		get: func(p *Packet) uint64 { return p.Result }, set: func(p *Packet, v uint64) { p.Result = v }},
	{name: "sack", bit: AttrSACK, layout: LayoutSACKETH, width: 24, base: 10, always: true, serial: true,
		get: func(p *Packet) uint64 { return uint64(p.SACK.PSN) }, set: func(p *Packet, v uint64) {
			p.SACK.PSN = psn.PSN(v)
		}},
	{name: "lost", bit: AttrLostCnt, layout: LayoutSACKETH, width: 3, base: 10,
		get: func(p *Packet) uint64 { return uint64(p.SACK.LostCnt) }, set: func(p *Packet, v uint64) {
			p.SACK.LostCnt = uint8(v)
		}},
	{name: "sn", bit: AttrSN, layout: LayoutSOETH, width: 24, base: 10,
		get: func(p *Packet) uint64 { return uint64(p.SO.SN) }, set: func(p *Packet, v uint64) { p.SO.SN = uint32(v) }},
	{name: "off", bit: AttrOffset, layout: LayoutSOETH, width: 32, base: 10,
		get: func(p *Packet) uint64 { return uint64(p.SO.Offset) }, set: func(p *Packet, v uint64) {
			p.SO.Offset = uint32(v)
		}},
	{name: "type", bit: AttrRepairType, layout: LayoutRepair, width: 8, base: 10,
		get: unknownType, set: func(p *Packet, v uint64) { p.Repair.Type = RepairType(v) }},
	{name: "bpsn", bit: AttrBase, layout: LayoutBlock, width: 24, base: 10, always: true, serial: true,
		get: func(p *Packet) uint64 { return uint64(p.Repair.Base) }, set: func(p *Packet, v uint64) {
			p.Repair.Base = psn.PSN(v)
		}},
	{name: "isn", bit: AttrISN, layout: LayoutRepair, width: 8, base: 10,
		get: func(p *Packet) uint64 { return uint64(p.Repair.ISN) }, set: func(p *Packet, v uint64) {
			p.Repair.ISN = uint8(v)
		}},
	{name: "n", bit: AttrN, layout: LayoutRepair, width: 16, base: 10,
		get: func(p *Packet) uint64 { return uint64(p.Repair.N) }, set: func(p *Packet, v uint64) {
			p.Repair.N = uint16(v)
		}},
	{name: "r", bit: AttrR, layout: LayoutRepair, width: 16, base: 10,
		get: func(p *Packet) uint64 { return uint64(p.Repair.R) }, set: func(p *Packet, v uint64) {
			p.Repair.R = uint16(v)
		}},
	{name: "c", bit: AttrC, layout: LayoutRepair, width: 8, base: 10,
		get: func(p *Packet) uint64 { return uint64(p.Repair.C) }, set: func(p *Packet, v uint64) {
			p.Repair.C = uint8(v)
		}},
	{name: "epoch", bit: AttrEpoch, layout: LayoutBlock, width: 8, base: 10,
		get: func(p *Packet) uint64 { return uint64(p.Repair.Epoch) }, set: func(p *Packet, v uint64) {
			p.Repair.Epoch = uint8(v)
		}},
	{name: "lastlen", bit: AttrLastLen, layout: LayoutXOR, width: 16, base: 10,
		get: func(p *Packet) uint64 { return uint64(p.Repair.LastLen) }, set: func(p *Packet, v uint64) {
			p.Repair.LastLen = uint16(v)
		}},
	{name: "check", bit: AttrCheck, layout: LayoutXOR, width: 32, base: 16,
		get: func(p *Packet) uint64 { return uint64(p.Repair.Check) }, set: func(p *Packet, v uint64) {
			p.Repair.Check = uint32(v)
		}},
	{name: "ver", bit: AttrVersion, layout: LayoutRepair, width: 4, base: 10,
		get: func(p *Packet) uint64 { return uint64(p.Repair.Version) }, set: func(p *Packet, v uint64) {
			p.Repair.Version = uint8(v)
		}},
	{name: "missed", bit: AttrMissed, layout: LayoutReport, width: 32, base: 10,
		get: func(p *Packet) uint64 { return uint64(p.Repair.Lost) }, set: func(p *Packet, v uint64) {
			p.Repair.Lost = uint32(v)
		}},
	{name: "recovered", bit: AttrRecovered, layout: LayoutReport, width: 32, base: 10,
		get: func(p *Packet) uint64 { return uint64(p.Repair.Recovered) }, set: func(p *Packet, v uint64) {
			p.Repair.Recovered = uint32(v)
		}},
	{name: "unrecoverable", bit: AttrUnrecoverable, layout: LayoutReport, width: 32, base: 10,
		get: func(p *Packet) uint64 { return uint64(p.Repair.Unrecoverable) }, set: func(p *Packet, v uint64) {
			p.Repair.Unrecoverable = uint32(v)
		}},
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
	{name: "ipid", bit: AttrIPID, layout: LayoutIP, width: 16, base: 10,
		get: func(p *Packet) uint64 { return uint64(p.IP.ID) }, set: func(p *Packet, v uint64) { p.IP.ID = uint16(v) }},
	{name: "frag", bit: AttrFragment, layout: LayoutIP, width: 16, base: 10,
		get: func(p *Packet) uint64 { return uint64(p.IP.Fragment.Offset()) }, set: func(p *Packet, v uint64) {
			p.IP.Fragment |= NewFragment(int(v), false)
		}},
}

// attrsOf maps the number of a Layout bit to the attributes of packets that have it: bit i stands for attrs[i].
var attrsOf = func() (sets [32]uint64) {
	for header := range sets {
		for i := range attrs {
			sets[header] |= uint64(attrs[i].layout) >> header & 1 << i
		}
	}
	return sets
}()

const _ = uint(64 - len(attrs)) // a set has one bit for each attribute

// attrsIn returns the set of attributes of a layout.
func attrsIn(l Layout) (set uint64) {
	for ; l != 0; l &= l - 1 {
		set |= attrsOf[bits.TrailingZeros32(uint32(l))]
	}
	return set
}

// irregularPad returns the padding when it is not what the payload needs, else zero, which does not print.
func irregularPad(p *Packet) uint64 {
	if s := p.sizes(); s.pad != -s.payload&3 {
		return uint64(s.pad)
	}
	return 0
}

// unknownType returns the type of a LoWAR packet, or zero when the first word of its text names the type.
func unknownType(p *Packet) uint64 {
	if p.Repair.Type.Known() {
		return 0
	}
	return uint64(p.Repair.Type)
}

// flags are the bits that print as bare words after everything else.
var flags = [...]struct {
	name   string
	layout Layout // a packet has the flag when its layout has this
	of     func(p *Packet) *bool
}{
	{"A", LayoutBTH, func(p *Packet) *bool { return &p.AckReq }},
	{"SE", LayoutBTH, func(p *Packet) *bool { return &p.SE }},
	{"MIG", LayoutBTH, func(p *Packet) *bool { return &p.Mig }},
	{"FECN", LayoutBTH, func(p *Packet) *bool { return &p.FECN }},
	{"BECN", LayoutBTH, func(p *Packet) *bool { return &p.BECN }},
	{"FIRST", LayoutRepair, func(p *Packet) *bool { return &p.Repair.HasFirst }},
	{"LAST", LayoutRepair, func(p *Packet) *bool { return &p.Repair.HasLast }},
	{"K", LayoutRepair, func(p *Packet) *bool { return &p.Repair.Responses }},
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
// not zero, and the flags. It says everything about a packet except the bytes of its payload, and those too when there
// is no BTH.
func (p *Packet) String() string {
	return string(p.AppendText(make([]byte, 0, 128), TextOptions{}))
}

// AppendText appends the text form as opt asks for. ParsePacket restores only the attributes that are not omitted.
// AppendText allocates only when b lacks room, so that a long trace can be printed line by line into one buffer.
func (p *Packet) AppendText(b []byte, opt TextOptions) []byte {
	b = append(b, p.word()...)
	layout := p.Layout()
	for set := attrsIn(layout); set != 0; set &= set - 1 {
		if a := &attrs[bits.TrailingZeros64(set)]; a.bit&opt.Omit == 0 {
			b = a.append(b, p, &opt)
		}
	}
	if layout&LayoutAETH != 0 {
		b = p.appendSyndrome(b)
	}
	if layout&LayoutIP != 0 {
		return p.appendIP(b, opt.Omit)
	}
	for i := range flags {
		if layout&flags[i].layout != 0 && *flags[i].of(p) {
			b = append(append(b, ' '), flags[i].name...)
		}
	}
	return b
}

// wordMore says that more fragments follow, as the flag MF of the IPv4 header.
const wordMore = "MF"

// appendIP prints the parts of a packet without BTH that are not in attrs: the flag of a fragment, and the bytes, which
// alone hold the headers of its transport.
func (p *Packet) appendIP(b []byte, omit Attr) []byte {
	if p.IP.Fragment.More() {
		b = append(b, " "+wordMore...)
	}
	if omit&AttrData == 0 && len(p.Payload) > 0 {
		b = hex.AppendEncode(append(b, " data="...), p.Payload)
	}
	return b
}

// word returns the first word of the text: the kind of an ACKNOWLEDGE or LoWAR packet, or the opcode.
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
	return p.Name()
}

// append prints one attribute unless it has its default.
func (a *attr) append(b []byte, p *Packet, opt *TextOptions) []byte {
	v := a.get(p) & (1<<a.width - 1)
	usual := uint64(0)
	switch a.bit {
	case AttrPKey:
		usual = DefaultPKey
	case AttrVersion:
		usual = RepairVersion
	}
	if v == usual && !a.always {
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

// appendSyndrome prints the syndrome by the key or word of its kind; an ACK without credit information prints nothing.
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
