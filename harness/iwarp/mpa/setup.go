// Package mpa is the framing by which a byte stream carries messages: Marker PDU Aligned framing over TCP. A connection
// starts with a request and a reply frame, in which each side says whether it wants markers and a CRC; after that each
// direction is a sequence of FPDUs:
//
//	ULPDU length (2) | ULPDU | pad to a multiple of 4 | CRC32c (4)
//
// With markers, four bytes stand before the first byte and then after every 508 bytes of the stream. Each holds the
// distance back to the start of the FPDU around it, so that a receiver can find a message boundary in any segment.
//
// Source: RFC 5044, sections 4 (framing, markers, CRC) and 7.1 (start-up). Only revision 1 is implemented, not the
// revision of RFC 6581. Reading order: framer.go, deframer.go.
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

// Lengths in bytes, and the revision, of start-up frames.
const (
	keyLen     = 16
	setupLen   = keyLen + 4
	MaxPrivate = 512 // bytes of private data
	Revision   = 1
	Enhanced   = 2 // revision with the depths of READ queues before the private data (RFC 6581)
)

// Flags of a start-up frame.
const (
	flagMarkers = 0x80
	flagCRC     = 0x40
	flagReject  = 0x20
)

// ErrSetup is the error of a stream that does not begin with a start-up frame of this package.
var ErrSetup = errors.New("mpa: bad start-up frame")

// Setup is a start-up frame: the request of the side that opened the connection, or the reply of the other.
type Setup struct {
	Reply    bool
	Markers  bool // the sender wants to receive markers
	CRC      bool // the sender wants CRCs; if either side does, both directions have them
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

// DecodeSetup reads the frame at the start of b and returns its length, or 0 without an error while bytes are missing.
// Private data aliases b. An error is returned at the first wrong byte, without waiting for a whole frame.
func DecodeSetup(b []byte) (s Setup, n int, err error) {
	seen := min(len(b), keyLen)
	switch string(b[:seen]) {
	case keyRequest[:seen]: // also when b is a prefix common to both keys
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
	case s.Revision != Revision && s.Revision != Enhanced:
		return s, 0, fmt.Errorf("%w: revision %d, want %d or %d", ErrSetup, s.Revision, Revision, Enhanced)
	case len(b) < n:
		return s, 0, nil
	}
	s.Private = b[setupLen:n]
	return s, n, nil
}
