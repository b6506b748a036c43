package mpa

import (
	"encoding/binary"
	"hash/crc32"
)

// Lengths around a ULPDU, and of markers, in bytes.
const (
	LengthLen   = 2
	CRCLen      = 4
	MarkerLen   = 4
	MarkerEvery = 512 // a marker begins at every multiple of this position in the stream
	MaxULPDU    = 1<<16 - 1
	// MaxMarked is the longest ULPDU of a stream with markers: the distance from the last marker back to the length
	// field must fit 16 bits.
	MaxMarked = 64768
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Pad returns the number of padding bytes after a ULPDU of n bytes: length field, ULPDU and padding are a multiple of
// four.
func Pad(n int) int { return -(LengthLen + n) & 3 }

// Framer turns ULPDUs into the FPDUs of one direction of a stream. The zero Framer begins with the first byte after the
// start-up frames; Markers and CRC must be set before the first FPDU.
type Framer struct {
	Markers bool // insert markers, because the receiver asked for them
	CRC     bool // compute the CRC; otherwise its field is zero

	pos   uint64 // bytes of the stream so far, markers included
	start uint64 // position of the length field of the current FPDU
}

// Limit returns the longest ULPDU whose FPDU fits into one segment of emss bytes at any position, so that every segment
// can begin with an FPDU (RFC 5044, 5.1: MULPDU = EMSS - (6 + 4 * Ceiling(EMSS / 512) + EMSS mod 4) with markers).
func (f *Framer) Limit(emss int) int {
	n := emss - (LengthLen + CRCLen) - emss%4
	if f.Markers {
		n = min(n-MarkerLen*((emss+MarkerEvery-1)/MarkerEvery), MaxMarked)
	}
	return max(0, min(n, MaxULPDU))
}

// Append appends the FPDU of a ULPDU, given as header and payload, to b. Together they must not exceed MaxULPDU bytes,
// or MaxMarked with markers. It allocates only when b lacks room.
func (f *Framer) Append(b, header, payload []byte) []byte {
	from := len(b)
	n := len(header) + len(payload)
	b = f.marker(b, true)
	f.start = f.pos
	b = f.put(b, []byte{byte(n >> 8), byte(n)})
	b = f.put(b, header)
	b = f.put(b, payload)
	var zero [3]byte
	b = f.put(b, zero[:Pad(n)])
	b = f.marker(b, false) // the CRC covers a marker between the padding and the CRC
	var sum uint32
	if f.CRC {
		sum = crc32.Checksum(b[from:], castagnoli)
	}
	f.pos += CRCLen
	return binary.LittleEndian.AppendUint32(b, sum)
}

// marker appends a marker if the stream is at a marker position. A marker before an FPDU has the pointer zero.
func (f *Framer) marker(b []byte, before bool) []byte {
	if !f.Markers || f.pos%MarkerEvery != 0 {
		return b
	}
	back := f.pos - f.start
	if before {
		back = 0
	}
	f.pos += MarkerLen
	return append(b, 0, 0, byte(back>>8), byte(back))
}

// put appends part of an FPDU with the markers that fall into it.
func (f *Framer) put(b, part []byte) []byte {
	if !f.Markers {
		f.pos += uint64(len(part))
		return append(b, part...)
	}
	for len(part) > 0 {
		b = f.marker(b, false)
		n := min(len(part), MarkerEvery-int(f.pos%MarkerEvery))
		b = append(b, part[:n]...)
		f.pos += uint64(n)
		part = part[n:]
	}
	return b
}
