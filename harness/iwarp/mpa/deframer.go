package mpa

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// Errors of a stream of FPDUs. After one of them the FPDU boundaries are unknown, and the rest of the stream cannot be
// read.
var (
	ErrCRC    = errors.New("mpa: CRC of an FPDU is wrong")
	ErrMarker = errors.New("mpa: marker does not point at the FPDU that it is in")
)

// FPDU is one frame, as found in the stream.
type FPDU struct {
	ULPDU  []byte // valid until the next call
	Start  uint64 // position of its length field, in bytes after the start-up frames
	Pad    []byte // the padding as received; it should be zeros
	CRCOK  bool   // the CRC is right, whether or not Deframer.CRC is set
	Marks  int    // number of markers in it and directly before it
	CRCSum uint32 // the CRC as received
}

// Deframer finds the FPDUs in one direction of a stream, from pieces of any size. The zero Deframer begins with the
// first byte after the start-up frames.
type Deframer struct {
	Markers bool // the stream has markers
	CRC     bool // a wrong CRC is an error

	pos   uint64 // bytes of the stream so far, markers included
	start uint64
	body  []byte // bytes of the FPDU so far, without markers
	need  int    // length that body must reach: LengthLen, then the whole FPDU
	mark  [MarkerLen]byte
	marks int
	sum   uint32 // CRC so far, over all bytes of the FPDU, and its markers, before the CRC field
	fpdu  FPDU
	err   error
}

// DeframerAt returns a Deframer that begins in the middle of a stream, pos bytes after the start-up frames, where an
// FPDU or the marker before it begins.
func DeframerAt(pos uint64, markers, crc bool) Deframer {
	return Deframer{Markers: markers, CRC: crc, pos: pos}
}

// Next takes bytes from b until an FPDU is complete, and returns it with the bytes that follow. It returns nil when it
// has taken all of b and needs more, and an error when the stream is broken; all later calls return the same error.
func (d *Deframer) Next(b []byte) (f *FPDU, rest []byte, err error) {
	for d.err == nil {
		if d.inMarker() {
			if len(b) == 0 {
				return nil, nil, nil
			}
			b = d.takeMarker(b)
			continue
		}
		if len(b) == 0 {
			return nil, nil, nil
		}
		if b = d.takeBody(b); len(d.body) < d.need {
			continue
		}
		if d.need == LengthLen {
			n := int(binary.BigEndian.Uint16(d.body))
			d.need += n + Pad(n) + CRCLen
			continue
		}
		if f = d.finish(); d.err == nil {
			return f, b, nil
		}
	}
	return nil, nil, d.err
}

func (d *Deframer) inMarker() bool { return d.Markers && d.pos%MarkerEvery < MarkerLen }

// takeMarker takes bytes of the current marker from b, and checks the marker when it is complete: its pointer must be
// the distance to the start of the FPDU. The reserved half is ignored.
func (d *Deframer) takeMarker(b []byte) []byte {
	at := int(d.pos % MarkerEvery)
	n := copy(d.mark[at:], b)
	d.sum = crc32.Update(d.sum, castagnoli, b[:n])
	d.pos += uint64(n)
	if at+n < MarkerLen {
		return b[n:]
	}
	d.marks++
	want := uint64(0) // of a marker before an FPDU
	if len(d.body) > 0 {
		want = d.pos - MarkerLen - d.start
	}
	if uint64(binary.BigEndian.Uint16(d.mark[2:])) != want {
		d.err = ErrMarker
	}
	return b[n:]
}

// takeBody takes bytes of the current part of the FPDU from b, up to the next marker.
func (d *Deframer) takeBody(b []byte) []byte {
	if len(d.body) == 0 {
		d.start, d.need = d.pos, LengthLen
	}
	n := min(len(b), d.need-len(d.body))
	if d.Markers {
		n = min(n, MarkerEvery-int(d.pos%MarkerEvery))
	}
	under := n // number of bytes that the CRC covers: all but the CRC itself
	if d.need > LengthLen {
		under = max(0, min(n, d.need-CRCLen-len(d.body)))
	}
	d.sum = crc32.Update(d.sum, castagnoli, b[:under])
	d.body = append(d.body, b[:n]...)
	d.pos += uint64(n)
	return b[n:]
}

// finish builds the FPDU from the body, and prepares for the next.
func (d *Deframer) finish() *FPDU {
	n := int(binary.BigEndian.Uint16(d.body))
	end := LengthLen + n
	d.fpdu = FPDU{ULPDU: d.body[LengthLen:end], Start: d.start, Pad: d.body[end : end+Pad(n)], Marks: d.marks,
		CRCSum: binary.LittleEndian.Uint32(d.body[len(d.body)-CRCLen:])}
	d.fpdu.CRCOK = d.fpdu.CRCSum == d.sum
	if d.CRC && !d.fpdu.CRCOK {
		d.err = ErrCRC
	}
	d.body, d.sum, d.marks = d.body[:0], 0, 0
	return &d.fpdu
}
