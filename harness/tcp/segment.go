// Package tcp is the wire format of TCP segments: the header with the two options of connection set-up, the flags, the
// checksum, and sequence numbers with their arithmetic. The behaviour of connections is elsewhere.
//
// Source: RFC 9293, sections 3.1 (header) and 3.4 (sequence numbers); RFC 7323, section 2 (window scale).
package tcp

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Flags are the control bits of a segment that connections here use.
type Flags uint8

// The flags (RFC 9293, 3.1).
const (
	FIN Flags = 1 << iota // no more data from the sender
	SYN                   // synchronise sequence numbers
	RST                   // reset the connection
	PSH                   // push
	ACK                   // the acknowledgement number is valid
)

// Has reports whether every flag of mask is set.
func (f Flags) Has(mask Flags) bool { return f&mask == mask }

var flagNames = [...]string{"FIN", "SYN", "RST", "PSH", "ACK"}

// String names the flags, "SYN,ACK"; "none" when there are none.
func (f Flags) String() string {
	var text string
	for i, name := range flagNames {
		if f&(1<<i) != 0 {
			text += "," + name
		}
	}
	if text == "" {
		return "none"
	}
	return text[1:]
}

// Lengths of the header.
const (
	HeaderLen  = 20            // of a header without options
	MaxOptions = 40            // maximum length of the options
	setupLen   = 4 + 4         // length of the options of a SYN: MSS, and a no-operation before window scale
	MaxScale   = 14            // largest shift of a window (RFC 7323, 2.3)
	kindEnd    = 0             // end of the options
	kindNop    = 1             // padding between options
	kindMSS    = 2             // maximum segment size, four bytes
	kindScale  = 3             // window scale, three bytes
	checksumAt = 16            // offset of the checksum
	minDataOff = HeaderLen / 4 // least value of the data offset, which counts words
)

// Header is the header of a segment. Decode skips options other than MSS and window scale, and Put does not write them.
type Header struct {
	SrcPort, DstPort uint16
	Seq, Ack         Seq
	Flags            Flags
	Window           uint16
	MSS              uint16 // in a SYN: the largest segment that its sender accepts; 0 when the option is absent
	Scale            uint8  // in a SYN: the shift of the windows that its sender announces
	HasScale         bool   // the window scale option is present
}

// ErrMalformed is the error of bytes that are not a TCP segment.
var ErrMalformed = errors.New("not a TCP segment")

// Len returns the number of header bytes that Put writes.
func (h *Header) Len() int {
	if h.Flags.Has(SYN) && (h.MSS != 0 || h.HasScale) {
		return HeaderLen + setupLen
	}
	return HeaderLen
}

// Put writes the header to the start of b, which must hold Len bytes, with a checksum of zero. A SYN has both options
// or neither: an MSS of 0 with a scale is written as the default, 536 (RFC 9293, 3.7.1).
func (h *Header) Put(b []byte) {
	be := binary.BigEndian
	be.PutUint16(b, h.SrcPort)
	be.PutUint16(b[2:], h.DstPort)
	be.PutUint32(b[4:], uint32(h.Seq))
	be.PutUint32(b[8:], uint32(h.Ack))
	n := h.Len()
	b[12], b[13] = byte(n/4)<<4, byte(h.Flags)
	be.PutUint16(b[14:], h.Window)
	be.PutUint32(b[checksumAt:], 0) // checksum and urgent pointer
	if n == HeaderLen {
		return
	}
	mss := h.MSS
	if mss == 0 {
		mss = 536
	}
	b[20], b[21] = kindMSS, 4
	be.PutUint16(b[22:], mss)
	b[24], b[25], b[26], b[27] = kindNop, kindNop, kindNop, kindNop
	if h.HasScale {
		b[25], b[26], b[27] = kindScale, 3, h.Scale
	}
}

// Decode reads the header of a segment and returns its data, which aliases b. It does not verify the checksum.
func Decode(b []byte) (h Header, data []byte, err error) {
	if len(b) < HeaderLen {
		return h, nil, fmt.Errorf("%w: %d bytes, a header has %d", ErrMalformed, len(b), HeaderLen)
	}
	be := binary.BigEndian
	n := int(b[12]>>4) * 4
	if n < HeaderLen || n > len(b) {
		return h, nil, fmt.Errorf("%w: the header says that it has %d of %d bytes", ErrMalformed, n, len(b))
	}
	h = Header{SrcPort: be.Uint16(b), DstPort: be.Uint16(b[2:]), Seq: Seq(be.Uint32(b[4:])), Ack: Seq(be.Uint32(b[8:])),
		Flags: Flags(b[13] & 0x1F), Window: be.Uint16(b[14:])}
	h.options(b[HeaderLen:n])
	return h, b[n:], nil
}

// options reads the options that it knows and stops at a malformed one: options are advice, and a segment is valid
// without.
func (h *Header) options(b []byte) {
	for len(b) > 0 && b[0] != kindEnd {
		if b[0] == kindNop {
			b = b[1:]
			continue
		}
		if len(b) < 2 || b[1] < 2 || int(b[1]) > len(b) {
			return
		}
		switch {
		case b[0] == kindMSS && b[1] == 4:
			h.MSS = binary.BigEndian.Uint16(b[2:])
		case b[0] == kindScale && b[1] == 3:
			h.Scale, h.HasScale = min(b[2], MaxScale), true
		}
		b = b[b[1]:]
	}
}

// Span returns how many sequence numbers a segment with n bytes of data occupies: SYN and FIN take one each.
func (h *Header) Span(n int) int {
	if h.Flags.Has(SYN) {
		n++
	}
	if h.Flags.Has(FIN) {
		n++
	}
	return n
}
