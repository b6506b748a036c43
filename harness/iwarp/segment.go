package iwarp

import (
	"encoding/binary"
	"fmt"
)

// Opcode is the RDMAP opcode, four bits (RFC 5040, 4.3).
type Opcode uint8

// The opcodes. WriteRecord is not in any RFC: RFC 7306 took 8 to 11.
const (
	Write       Opcode = 0x0
	ReadRequest Opcode = 0x1
	ReadResp    Opcode = 0x2
	Send        Opcode = 0x3
	SendInv     Opcode = 0x4
	SendSE      Opcode = 0x5
	SendSEInv   Opcode = 0x6
	Terminate   Opcode = 0x7
	WriteRecord Opcode = 0xC
)

var opcodeNames = [16]string{Write: "WRITE", ReadRequest: "READ_REQ", ReadResp: "READ_RESP", Send: "SEND",
	SendInv: "SEND_INV",
	SendSE:  "SEND_SE", SendSEInv: "SEND_SE_INV", Terminate: "TERMINATE", WriteRecord: "WREC"}

// Known reports an opcode that this package has a name for.
func (o Opcode) Known() bool { return opcodeNames[o&15] != "" }

// Tagged reports whether messages of this opcode are placed by steering tag; the others use a buffer of a queue (RFC
// 5040, 4.3, figure 4).
func (o Opcode) Tagged() bool { return o == Write || o == ReadResp || o == WriteRecord }

// IsSend reports the four kinds of SEND, which consume a posted receive.
func (o Opcode) IsSend() bool { return o >= Send && o <= SendSEInv }

// Invalidates reports the two kinds of SEND whose header names a steering tag to invalidate.
func (o Opcode) Invalidates() bool { return o == SendInv || o == SendSEInv }

// String returns the name in upper case, or OP_0xd for one without.
func (o Opcode) String() string {
	if o.Known() {
		return opcodeNames[o&15]
	}
	return fmt.Sprintf("OP_0x%x", uint8(o&15))
}

// The queues of untagged messages (RFC 5040, 4.3).
const (
	QueueSend      = 0
	QueueRead      = 1
	QueueTerminate = 2
)

// Version is the version of DDP and of RDMAP; the control word holds both.
const Version = 1

// Lengths of the headers, in bytes.
const (
	TaggedLen   = 14 // control word, steering tag, tagged offset
	UntaggedLen = 18 // control word, reserved for the protocol above, queue number, message number, message offset
	RecordLen   = 16 // header of Write-Record, after the tagged header
	CRCLen      = 4
)

// Segment is one DDP segment. The encoder ignores fields that its model, tagged or untagged, does not have, and the
// decoder leaves them zero.
type Segment struct {
	Tagged   bool   // the model, bit 15 of the control word
	Last     bool   // L: the last segment of its message
	Opcode   Opcode // RDMAP opcode
	DDP      uint8  // DDP version, two bits
	RDMAP    uint8  // RDMAP version, two bits
	Reserved uint16 // the reserved bits of the control word, at their positions
	STag     uint32 // tagged: steering tag of the destination; untagged: the tag to invalidate, or zero
	TO       uint64 // tagged: offset of the first byte; in this project an address
	QN       uint32 // untagged: queue number
	MSN      uint32 // untagged: message number, from 1
	MO       uint32 // untagged: offset of the first byte in the message
	Record   Record // Write-Record
	Payload  []byte
}

// Record is the header of Write-Record, 16 bytes: the message of a segment, and the segment's place in it. With it
// every segment can be placed and logged independently of the others.
type Record struct {
	ID    uint32 // message number, counted per source and destination
	Len   uint32 // length of the whole message in bytes
	Off   uint32 // offset of this segment in the message
	Flags uint32 // 16 reserved bits and 16 flags, none in use
}

// The control word: T 15, L 14, reserved 13 to 10, DDP version 9 and 8, RDMAP version 7 and 6, reserved 5 and 4,
// opcode.
const (
	bitTagged    = 1 << 15
	bitLast      = 1 << 14
	reservedBits = 0x3C30
)

// HeaderLen returns the number of bytes before the payload.
func (s *Segment) HeaderLen() int {
	switch {
	case !s.Tagged:
		return UntaggedLen
	case s.Opcode == WriteRecord:
		return TaggedLen + RecordLen
	}
	return TaggedLen
}

// AppendHeader appends the headers before the payload.
func (s *Segment) AppendHeader(b []byte) []byte {
	be := binary.BigEndian
	control := uint16(s.DDP&3)<<8 | uint16(s.RDMAP&3)<<6 | s.Reserved&reservedBits | uint16(s.Opcode&15)
	if s.Tagged {
		control |= bitTagged
	}
	if s.Last {
		control |= bitLast
	}
	b = be.AppendUint32(be.AppendUint16(b, control), s.STag)
	if !s.Tagged {
		return be.AppendUint32(be.AppendUint32(be.AppendUint32(b, s.QN), s.MSN), s.MO)
	}
	b = be.AppendUint64(b, s.TO)
	if s.Opcode == WriteRecord {
		r := &s.Record
		b = be.AppendUint32(be.AppendUint32(b, r.ID), r.Len)
		b = be.AppendUint32(be.AppendUint32(b, r.Off), r.Flags)
	}
	return b
}

// Append appends the whole segment, without a CRC.
func (s *Segment) Append(b []byte) []byte { return append(s.AppendHeader(b), s.Payload...) }

// Decode reads a segment, which must be all of b. Only bytes that cannot be a segment are an error: versions, reserved
// bits and opcode are for the caller to check, and bit T alone decides the model.
func (s *Segment) Decode(b []byte) error {
	*s = Segment{}
	if len(b) < TaggedLen {
		return fmt.Errorf("iwarp: segment of %d bytes: shorter than a DDP header of %d", len(b), TaggedLen)
	}
	be := binary.BigEndian
	control := be.Uint16(b)
	s.Tagged, s.Last, s.Opcode = control&bitTagged != 0, control&bitLast != 0, Opcode(control&15)
	s.DDP, s.RDMAP, s.Reserved = uint8(control>>8&3), uint8(control>>6&3), control&reservedBits
	s.STag = be.Uint32(b[2:])
	n := s.HeaderLen()
	if len(b) < n {
		return fmt.Errorf("iwarp: segment of %d bytes: shorter than its header of %d", len(b), n)
	}
	if s.Tagged {
		s.TO = be.Uint64(b[6:])
	} else {
		s.QN, s.MSN, s.MO = be.Uint32(b[6:]), be.Uint32(b[10:]), be.Uint32(b[14:])
	}
	if n == TaggedLen+RecordLen {
		s.Record = Record{ID: be.Uint32(b[14:]), Len: be.Uint32(b[18:]), Off: be.Uint32(b[22:]),
			Flags: be.Uint32(b[26:])}
	}
	if len(b) > n {
		s.Payload = b[n:len(b):len(b)]
	}
	return nil
}
