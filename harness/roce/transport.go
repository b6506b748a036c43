package roce

import (
	"encoding/binary"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
)

// MaxPayload is the largest payload in bytes that the encoder writes: with every header it still fits an IP packet.
// Longer payloads are cut. The largest path MTU is far below it.
const MaxPayload = 65400

// PathMTUs are the MTUs that a path can have, in bytes of payload (IBTA 8.2.1).
var PathMTUs = [...]int{256, 512, 1024, 2048, 4096}

// IsPathMTU reports whether a path can have an MTU of n bytes.
func IsPathMTU(n int) bool { return slices.Contains(PathMTUs[:], n) }

const (
	bthLen    = 12
	repairLen = 12 // of a LoWAR repair header, the part that all types have
	icrcLen   = 4
)

// sizes are the lengths of the parts of a packet on the wire, in bytes.
type sizes struct{ header, payload, pad int }

func (s sizes) total() int { return s.header + s.payload + s.pad }

// sizes computes the padding that fills the last word, unless the packet asks for another number.
func (p *Packet) sizes() sizes {
	row := &opcodes[p.Opcode]
	s := sizes{header: int(row.header)}
	layout := row.layout
	if layout&LayoutRepair != 0 {
		layout = p.Repair.Type.layout()
		s.header = layout.Len()
	}
	if layout&LayoutPayload != 0 {
		s.payload = p.Len
		if p.Payload != nil {
			s.payload = len(p.Payload)
		}
		s.payload = min(max(s.payload, 0), MaxPayload)
	}
	switch {
	case layout&LayoutBTH == 0:
	case p.Pad&3 != 0:
		s.pad = int(p.Pad & 3)
	default:
		s.pad = -s.payload & 3
	}
	return s
}

// TransportLen returns the number of bytes from the BTH to the end of the padding, without ICRC.
func (p *Packet) TransportLen() int { return p.sizes().total() }

// AppendTransport appends the packet from the BTH to the end of the padding, without ICRC. A nil Payload is written as
// Len zeros. A Pad of zero means the padding that the payload needs, so that Pad is set only to send a wrong number.
func (p *Packet) AppendTransport(b []byte) []byte {
	size := p.sizes()
	b, out := extend(b, size.total())
	p.putTransport(out, size)
	return b
}

// putTransport fills b, which may hold old content.
func (p *Packet) putTransport(b []byte, size sizes) {
	p.putHead(b, size)
	// Old content is cleared only where no payload covers it: a packet of 4 KiB is written once, not twice.
	b = b[size.header:]
	n := 0
	if p.Payload != nil {
		n = copy(b[:size.payload], p.Payload)
	}
	clear(b[n:])
}

// putHead writes the headers of the transport.
func (p *Packet) putHead(b []byte, size sizes) {
	l := p.Opcode.Layout()
	if l&LayoutBTH != 0 {
		p.putBTH((*[bthLen]byte)(b), size.pad)
		p.putExtended(b[bthLen:size.header], l)
	} else if l&LayoutRepair != 0 {
		p.putRepair(b, size.payload)
	}
}

// putBTH writes the base header. QPs and PSNs of 24 bits share their words with a byte of flags, so each pair is
// written as one word, masked so that a number of more than 24 bits does not spill into the flags.
func (p *Packet) putBTH(b *[bthLen]byte, pad int) {
	b[0] = byte(p.Opcode)
	b[1] = bit(p.SE, 7) | bit(p.Mig, 6) | byte(pad)<<4 | p.TVer&15
	binary.BigEndian.PutUint16(b[2:], p.PKey)
	top := bit(p.FECN, 7) | bit(p.BECN, 6) | p.Resv6&0x3F
	binary.BigEndian.PutUint32(b[4:], uint32(top)<<24|p.DestQP&psn.Mask)
	ack := bit(p.AckReq, 7) | p.Resv7&0x7F
	binary.BigEndian.PutUint32(b[8:], uint32(ack)<<24|uint32(p.PSN)&psn.Mask)
}

// putExtended writes the extended headers, one after the other in the order of the Layout bits. It is a sequence of
// tests instead of a table walk because it runs for every packet, and for most of them no test holds.
func (p *Packet) putExtended(b []byte, l Layout) {
	be := binary.BigEndian
	if l&LayoutDETH != 0 {
		be.PutUint32(b, p.DETH.QKey)
		be.PutUint32(b[4:], p.DETH.SrcQP&psn.Mask)
		b = b[8:]
	}
	if l&LayoutFETH != 0 {
		be.PutUint32(b, p.Flush)
		b = b[4:]
	}
	if l&(LayoutRETH|LayoutVAETH|LayoutAtomicETH) != 0 {
		b = p.putRemote(b, l)
	}
	if l&LayoutAETH != 0 {
		be.PutUint32(b, uint32(p.AETH.Syndrome)<<24|uint32(p.AETH.MSN)&psn.Mask)
		b = b[4:]
	}
	if l&LayoutAtomicAckETH != 0 {
		be.PutUint64(b, p.Result)
		b = b[8:]
	}
	if l&LayoutSACKETH != 0 {
		be.PutUint32(b, uint32(p.SACK.LostCnt&7)<<29|uint32(p.SACK.PSN)&psn.Mask)
		b = b[4:]
	}
	if l&LayoutSOETH != 0 {
		be.PutUint32(b, p.SO.SN&psn.Mask)
		be.PutUint32(b[4:], p.SO.Offset)
		b = b[8:]
	}
	if l&LayoutImm != 0 {
		be.PutUint32(b, p.Imm)
		b = b[4:]
	}
	if l&LayoutIETH != 0 {
		be.PutUint32(b, p.InvKey)
	}
}

// putRemote writes the one header of three that holds a remote address, and returns what follows it. All three begin
// alike: VAETH is the address, RETH adds key and length, AtomicETH adds key and operands.
func (p *Packet) putRemote(b []byte, l Layout) []byte {
	be := binary.BigEndian
	be.PutUint64(b, p.RETH.VA)
	if l&LayoutVAETH != 0 {
		return b[8:]
	}
	be.PutUint32(b[8:], p.RETH.RKey)
	if l&LayoutRETH != 0 {
		be.PutUint32(b[12:], p.RETH.DMALen)
		return b[16:]
	}
	be.PutUint64(b[12:], p.Atomic.SwapAdd)
	be.PutUint64(b[20:], p.Atomic.Compare)
	return b[28:]
}

// DecodeTransport reads a packet from the BTH to the end of the padding, without ICRC. Payload aliases b. Errors are
// *FieldError; after ErrUnknownOpcode the BTH is filled in.
func (p *Packet) DecodeTransport(b []byte) error {
	*p = Packet{}
	return p.decode(b, 0)
}

// decode fills the zero packet p from b, whose last trailer bytes are the ICRC. The headers are checked before the
// trailer, so that the error for a truncated packet names the first missing part.
func (p *Packet) decode(b []byte, trailer int) error {
	if len(b) > 0 && Opcode(b[0]) == LoWAR {
		return p.decodeRepair(b, trailer)
	}
	if len(b) < bthLen {
		return bad("bth", ErrTruncated, len(b), bthLen)
	}
	p.getBTH((*[bthLen]byte)(b))
	row := &opcodes[p.Opcode]
	if row.traits&known == 0 {
		return bad("opcode", ErrUnknownOpcode, int(p.Opcode), 0)
	}
	header := int(row.header)
	if len(b) < header+trailer {
		return missing(b, row.layout)
	}
	p.getExtended(b[bthLen:header], row.layout)
	return p.getPayload(b[header:len(b)-trailer], row.layout)
}

// missing names the first header that b does not hold in full; when it holds all, the ICRC is missing.
func missing(b []byte, l Layout) error {
	left := len(b)
	for i, h := range headers {
		if l>>i&1 == 0 {
			continue
		}
		if left < h.size {
			return bad(h.name, ErrTruncated, left, h.size)
		}
		left -= h.size
	}
	return bad("icrc", ErrTruncated, left, icrcLen)
}

// getBTH mirrors putBTH. Reserved bits are kept, because a receiver ignores them (IBTA 9.2) and a trace must show them.
func (p *Packet) getBTH(b *[bthLen]byte) {
	p.Opcode = Opcode(b[0])
	p.SE, p.Mig = b[1]&0x80 != 0, b[1]&0x40 != 0
	p.Pad, p.TVer = b[1]>>4&3, b[1]&15
	p.PKey = binary.BigEndian.Uint16(b[2:])
	p.FECN, p.BECN, p.Resv6 = b[4]&0x80 != 0, b[4]&0x40 != 0, b[4]&0x3F
	p.DestQP = binary.BigEndian.Uint32(b[4:]) & psn.Mask
	p.AckReq, p.Resv7 = b[8]&0x80 != 0, b[8]&0x7F
	p.PSN = psn.New(binary.BigEndian.Uint32(b[8:]))
}

// getExtended reads the extended headers of l; it mirrors putExtended.
func (p *Packet) getExtended(b []byte, l Layout) {
	be := binary.BigEndian
	if l&LayoutDETH != 0 {
		p.DETH = DETH{QKey: be.Uint32(b), SrcQP: be.Uint32(b[4:]) & psn.Mask}
		b = b[8:]
	}
	if l&LayoutFETH != 0 {
		p.Flush = be.Uint32(b)
		b = b[4:]
	}
	if l&(LayoutRETH|LayoutVAETH|LayoutAtomicETH) != 0 {
		b = p.getRemote(b, l)
	}
	if l&LayoutAETH != 0 {
		p.AETH = AETH{Syndrome: Syndrome(b[0]), MSN: psn.MSN(be.Uint32(b) & psn.Mask)}
		b = b[4:]
	}
	if l&LayoutAtomicAckETH != 0 {
		p.Result = be.Uint64(b)
		b = b[8:]
	}
	if l&LayoutSACKETH != 0 {
		p.SACK = SACKETH{PSN: psn.New(be.Uint32(b)), LostCnt: b[0] >> 5}
		b = b[4:]
	}
	if l&LayoutSOETH != 0 {
		p.SO = SOETH{SN: be.Uint32(b) & psn.Mask, Offset: be.Uint32(b[4:])}
		b = b[8:]
	}
	if l&LayoutImm != 0 {
		p.Imm = be.Uint32(b)
		b = b[4:]
	}
	if l&LayoutIETH != 0 {
		p.InvKey = be.Uint32(b)
	}
}

// getRemote mirrors putRemote.
func (p *Packet) getRemote(b []byte, l Layout) []byte {
	be := binary.BigEndian
	p.RETH.VA = be.Uint64(b)
	if l&LayoutVAETH != 0 {
		return b[8:]
	}
	p.RETH.RKey = be.Uint32(b[8:])
	if l&LayoutRETH != 0 {
		p.RETH.DMALen = be.Uint32(b[12:])
		return b[16:]
	}
	p.Atomic = AtomicETH{SwapAdd: be.Uint64(b[12:]), Compare: be.Uint64(b[20:])}
	return b[28:]
}

// getPayload reads the rest of the packet, padding included. Transport packets are whole words (IBTA 9.2.3). The
// capacity of Payload is its length, so that an append to it cannot reach into the frame.
func (p *Packet) getPayload(rest []byte, l Layout) error {
	n := len(rest) - int(p.Pad)
	switch {
	case l&LayoutPayload == 0 && len(rest) > 0:
		return bad("payload", ErrLength, len(rest), 0)
	case n < 0:
		return bad("pad", ErrMalformed, int(p.Pad), len(rest))
	case l&LayoutBTH != 0 && len(rest)&3 != 0:
		return bad("pad", ErrMalformed, int(p.Pad), -n&3)
	}
	if n > 0 {
		p.Payload, p.Len = rest[:n:n], n
	}
	return nil
}

// bit returns a byte with one bit set when on.
func bit(on bool, shift uint) byte {
	if on {
		return 1 << shift
	}
	return 0
}
