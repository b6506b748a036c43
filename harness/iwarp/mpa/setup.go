// Package mpa is the framing that lets a byte stream carry messages: Marker PDU Aligned framing over TCP. A connection
// starts with a request and a reply frame, in which each side says whether it wants markers and a CRC; from then on
// each direction is a sequence of FPDUs:
//
//	ULPDU length (2) | ULPDU | pad to a multiple of 4 | CRC32c (4)
//
// With markers, four bytes stand before the first byte and then after every 508 bytes of the stream. Each tells how far
// back the FPDU began that it stands in, so that a receiver can find a message boundary in any segment.
//
// Source: RFC 5044, sections 4 (framing, markers, CRC) and 7.1 (start-up). Revision 1; that of RFC 6581 is not here.
// Reading order: framer.go, deframer.go.
package mpa

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Keys of the start-up frames (RFC 5044, 7.1.1).
const (
	keyRequest = "MPA ID Req Frame"
	keyReply   = "MPA ID Rep Frame"
)

// Lengths and the revision of start-up frames.
const (
	keyLen     = 16
	setupLen   = keyLen + 4
	MaxPrivate = 512 // bytes of private data
	Revision   = 1
)

// The flag byte of a start-up frame.
const (
	flagMarkers = 0x80
	flagCRC     = 0x40
	flagReject  = 0x20
)

// ErrSetup says that a stream does not begin with a start-up frame that this package understands.
var ErrSetup = errors.New("mpa: bad start-up frame")

// Setup is a start-up frame: the request of the side that opened the connection, or the reply of the other.
type Setup struct {
	Reply    bool
	Markers  bool // its sender wants markers in what it receives
	CRC      bool // its sender wants CRCs; one such side is enough for both directions
	Reject   bool // reply: the connection is refused
	Revision uint8
	Private  []byte // for the application, MaxPrivate bytes at most
}

// Append appends the frame to b. Private data beyond MaxPrivate is cut.
func (s *Setup) Append(b []byte) []byte {
	key := keyRequest
	if s.Reply {
		key = keyReply
	}
	var flags byte
	for _, f := range []struct {
		on  bool
		bit byte
	}{{s.Markers, flagMarkers}, {s.CRC, flagCRC}, {s.Reject, flagReject}} {
		if f.on {
			flags |= f.bit
		}
	}
	private := s.Private[:min(len(s.Private), MaxPrivate)]
	b = append(append(b, key...), flags, s.Revision)
	b = binary.BigEndian.AppendUint16(b, uint16(len(private)))
	return append(b, private...)
}

// DecodeSetup reads the frame that b begins with and returns its length, or 0 without an error while bytes are missing.
// Private data aliases b. A stream that cannot become a frame is refused at its first wrong byte.
func DecodeSetup(b []byte) (s Setup, n int, err error) {
	seen := min(len(b), keyLen)
	switch string(b[:seen]) {
	case keyRequest[:seen]: // also a prefix that both keys share
	case keyReply[:seen]:
		s.Reply = true
	default:
		return s, 0, fmt.Errorf("%w: the stream begins with %q", ErrSetup, b[:seen])
	}
	if len(b) < setupLen {
		return s, 0, nil
	}
	flags, private := b[keyLen], int(binary.BigEndian.Uint16(b[keyLen+2:]))
	s.Markers, s.CRC, s.Reject = flags&flagMarkers != 0, flags&flagCRC != 0, flags&flagReject != 0
	s.Revision = b[keyLen+1]
	switch n = setupLen + private; {
	case private > MaxPrivate:
		return s, 0, fmt.Errorf("%w: %d bytes of private data, %d are allowed", ErrSetup, private, MaxPrivate)
	case s.Revision != Revision:
		return s, 0, fmt.Errorf("%w: revision %d, want %d", ErrSetup, s.Revision, Revision)
	case len(b) < n:
		return s, 0, nil
	}
	s.Private = b[setupLen:n]
	return s, n, nil
}
