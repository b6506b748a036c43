package roce

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
)

// Repair is the repair header of LoWAR, which takes the place of the BTH. "It includes a target QPN field to map LoWAR
// packets to their connections. Depending on the Type field …, the Repair Header carries different information." (Zuo
// et al., LoWAR: Enhancing RDMA over Lossy WANs with Transparent Error Correction, IV-C, Figure 8) The paper names the
// fields and fixes bytes 0 to 4; the offsets of the others are this project's choice:
//
//	word 0          0x1F, DestQP
//	word 1          Type, version (4 bits), has_First, has_Last, K, 0, ISN, c
//	word 2          r, N
//	word 3          epoch, bPSN                        REPAIR and ANNOUNCE
//	word 4          Last_Length, bytes of XOR payload  REPAIR
//	word 5          check                              REPAIR
//	words 3 to 5    lost, recovered, unrecoverable     FEEDBACK
//
// The encoder computes the length of the XOR payload, and the decoder refuses one that is wrong.
type Repair struct {
	Type      RepairType
	Version   uint8 // RepairVersion, 4 bits
	HasFirst  bool  // the block holds the first packet of a message
	HasLast   bool  // the block holds the last packet of a message
	Responses bool  // K: the stream is that of READ responses, not that of requests
	ISN       uint8 // interleaving sequence number of this repair packet in its block
	C         uint8 // interleaving depth; in a FEEDBACK the depth asked for
	R         uint16
	N         uint16  // data packets in the block; 0 in an ANNOUNCE when it is not known
	Epoch     uint8   // generation of the parameters r and c
	Base      psn.PSN // bPSN: PSN of the first packet of the block
	LastLen   uint16  // has_Last: bytes of the block's last packet from the BTH to the end of the padding

	// Check is the sum of RepairDigest over the packets of the unit. The paper has no such field. XOR alone cannot
	// detect that a received packet differs from the one that was coded: a retransmitted READ response has another MSN
	// in its AETH, and at the offset of one packet's AETH another packet has data.
	Check uint32

	// Counters of the receiver since its previous FEEDBACK: lost packets, those of them that were recovered, and those
	// that were not.
	Lost, Recovered, Unrecoverable uint32
}

// RepairVersion is the version of the layout above.
const RepairVersion = 1

// RepairType is byte 4 of a LoWAR packet.
type RepairType uint8

// The types. "In LoWAR's architecture, negotiation packets are not deemed essential for decoding" (IV-C).
const (
	RepairData     RepairType = 1 // REPAIR: one coding unit of a block
	RepairAnnounce RepairType = 2 // ANNOUNCE: from sender to receiver, the parameters of the blocks from bPSN on
	RepairFeedback RepairType = 3 // FEEDBACK: from receiver to sender, the parameters it asks for and why
)

// repairTypes lists the names of the types and the headers of their packets; a packet of a type that is not listed has
// words 0 to 2 and opaque bytes.
var repairTypes = [...]struct {
	name   string
	layout Layout
}{
	0:              {"", LayoutRepair | LayoutPayload},
	RepairData:     {"REPAIR", LayoutRepair | LayoutBlock | LayoutXOR | LayoutPayload},
	RepairAnnounce: {"ANNOUNCE", LayoutRepair | LayoutBlock},
	RepairFeedback: {"FEEDBACK", LayoutRepair | LayoutReport},
}

// Known reports whether the type is one of the three.
func (t RepairType) Known() bool { return t != 0 && int(t) < len(repairTypes) }

// layout returns the headers of a type; an unknown type has the headers of type zero.
func (t RepairType) layout() Layout {
	if !t.Known() {
		t = 0
	}
	return repairTypes[t].layout
}

// String returns "REPAIR", "ANNOUNCE" or "FEEDBACK", and the name of the opcode for any other type.
func (t RepairType) String() string {
	if !t.Known() {
		return LoWAR.String()
	}
	return repairTypes[t].name
}

// parseRepairType returns the type of that name.
func parseRepairType(name string) (t RepairType, ok bool) {
	for i, row := range repairTypes {
		if name != "" && row.name == name {
			return RepairType(i), true
		}
	}
	return 0, false
}

// Layout returns the headers of the packet: those of its opcode, or of its type in a LoWAR packet.
func (p *Packet) Layout() Layout {
	if p.Opcode == LoWAR {
		return p.Repair.Type.layout()
	}
	return p.Opcode.Layout()
}

// Name returns the name of the opcode, or the name of the type for LoWAR, whose packets all have one opcode.
func (p *Packet) Name() string {
	if p.Opcode == LoWAR {
		return p.Repair.Type.String()
	}
	return p.Opcode.String()
}

// Number returns the PSN that identifies a packet among others of its kind: its own, or, in a LoWAR packet, which has
// none, the PSN of the first packet of its block.
func (p *Packet) Number() psn.PSN {
	if p.Opcode == LoWAR {
		return p.Repair.Base
	}
	return p.PSN
}

// ToRequester reports a packet that the requester of a connection handles; the responder handles all others. Repair
// packets and announcements travel in the direction of the data of their stream, feedback in the opposite one.
func (p *Packet) ToRequester() bool {
	if p.Opcode == LoWAR {
		return p.Repair.Responses != (p.Repair.Type == RepairFeedback)
	}
	return p.Opcode.IsResponse()
}

// putRepair writes the header. xor is the length of the XOR payload.
func (p *Packet) putRepair(b []byte, xor int) {
	be, r := binary.BigEndian, &p.Repair
	be.PutUint32(b, uint32(LoWAR)<<24|p.DestQP&psn.Mask)
	b[4] = byte(r.Type)
	b[5] = r.Version<<4 | bit(r.HasFirst, 3) | bit(r.HasLast, 2) | bit(r.Responses, 1)
	b[6], b[7] = r.ISN, r.C
	be.PutUint16(b[8:], r.R)
	be.PutUint16(b[10:], r.N)
	l := r.Type.layout()
	b = b[repairLen:]
	if l&LayoutBlock != 0 {
		be.PutUint32(b, uint32(r.Epoch)<<24|uint32(r.Base)&psn.Mask)
		b = b[4:]
	}
	if l&LayoutXOR != 0 {
		be.PutUint16(b, r.LastLen)
		be.PutUint16(b[2:], uint16(xor))
		be.PutUint32(b[4:], r.Check)
		b = b[8:]
	}
	if l&LayoutReport != 0 {
		be.PutUint32(b, r.Lost)
		be.PutUint32(b[4:], r.Recovered)
		be.PutUint32(b[8:], r.Unrecoverable)
	}
}

// decodeRepair reads a LoWAR packet, which has no padding. Reserved bits are ignored.
func (p *Packet) decodeRepair(b []byte, trailer int) error {
	if len(b) < repairLen {
		return missing(b, LayoutRepair)
	}
	be, r := binary.BigEndian, &p.Repair
	p.Opcode, p.DestQP = LoWAR, be.Uint32(b)&psn.Mask
	r.Type, r.Version = RepairType(b[4]), b[5]>>4
	r.HasFirst, r.HasLast, r.Responses = b[5]&8 != 0, b[5]&4 != 0, b[5]&2 != 0
	r.ISN, r.C = b[6], b[7]
	r.R, r.N = be.Uint16(b[8:]), be.Uint16(b[10:])
	l := r.Type.layout()
	header := l.Len()
	if len(b) < header+trailer {
		return missing(b, l)
	}
	at := b[repairLen:header]
	if l&LayoutBlock != 0 {
		r.Epoch, r.Base = at[0], psn.New(be.Uint32(at))
	}
	if l&LayoutXOR != 0 {
		r.LastLen, r.Check = be.Uint16(at[4:]), be.Uint32(at[8:])
		if want := len(b) - header - trailer; int(be.Uint16(at[6:])) != want {
			return bad("xor length", ErrLength, int(be.Uint16(at[6:])), want)
		}
	}
	if l&LayoutReport != 0 {
		r.Lost, r.Recovered, r.Unrecoverable = be.Uint32(at), be.Uint32(at[4:]), be.Uint32(at[8:])
	}
	return p.getPayload(b[header:len(b)-trailer], l)
}

// RepairDigest returns the digest of a packet for Repair.Check. b is the part of the packet that is coded: from the BTH
// to the end of the padding, with zero for the byte that routers may change. A CRC alone would not do, because it is
// linear, as the code is.
func RepairDigest(b []byte) uint32 {
	x := uint64(crc32.Checksum(b, castagnoli)) * 0x9E3779B97F4A7C15
	return uint32(x>>32) ^ uint32(x)>>7
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)
