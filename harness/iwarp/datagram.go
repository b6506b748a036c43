package iwarp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// Lengths of a datagram, in bytes.
const (
	UDPLen = 8
	// MaxDatagram is the longest UDP payload over IPv4: 65535 bytes less the headers of IP and UDP.
	MaxDatagram = 65507
)

// castagnoli is the polynomial of iSCSI and of MPA (RFC 5044, 4.4).
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// CRC returns the CRC32c of b, which is sent after it in big-endian order: "Datagram-iWARP always requires the use of
// Cyclic Redundancy Check (CRC32) when sending messages" (IV-B, 6). CRC32c is the CRC-32 that iWARP uses elsewhere.
func CRC(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// ErrCRC is the error of a segment that does not match its CRC.
var ErrCRC = errors.New("iwarp: CRC32c does not match")

// AppendDatagram appends the UDP datagram that carries one segment: UDP header, segment, CRC. There is no MPA length
// and no marker, "as they have defined message boundaries" (II), and no padding, because without a length it could not
// be distinguished from payload. The UDP checksum is zero, none: the CRC covers more.
func AppendDatagram(b []byte, src, dst uint16, s *Segment) []byte {
	b = AppendUDP(b, src, dst, s.HeaderLen()+len(s.Payload)+CRCLen)
	return AppendCRC(s.Append(b), s.HeaderLen()+len(s.Payload))
}

// AppendUDP appends the UDP header (RFC 768) of a datagram whose data, n bytes, is to follow.
func AppendUDP(b []byte, src, dst uint16, n int) []byte {
	be := binary.BigEndian
	b = be.AppendUint16(be.AppendUint16(b, src), dst)
	return be.AppendUint16(be.AppendUint16(b, uint16(UDPLen+n)), 0)
}

// AppendCRC appends the CRC of the last n bytes.
func AppendCRC(b []byte, n int) []byte {
	return binary.BigEndian.AppendUint32(b, CRC(b[len(b)-n:]))
}

// Datagram is a decoded UDP datagram.
type Datagram struct {
	Src, Dst uint16
	Segment  Segment
}

// Decode reads a whole datagram, UDP header included. After ErrCRC the segment is filled in as far as it decodes.
func (d *Datagram) Decode(b []byte) error {
	*d = Datagram{}
	be := binary.BigEndian
	if len(b) >= UDPLen {
		d.Src, d.Dst = be.Uint16(b), be.Uint16(b[2:])
	}
	if len(b) < UDPLen+TaggedLen+CRCLen {
		return fmt.Errorf("iwarp: datagram of %d bytes: too short for a segment and its CRC", len(b))
	}
	if n := int(be.Uint16(b[4:])); n != len(b) {
		return fmt.Errorf("iwarp: UDP length %d in a datagram of %d bytes", n, len(b))
	}
	body := b[UDPLen : len(b)-CRCLen]
	err := d.Segment.Decode(body)
	if CRC(body) != be.Uint32(b[len(b)-CRCLen:]) {
		return ErrCRC
	}
	return err
}
