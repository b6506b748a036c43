package iwarp

import (
	"encoding/binary"
	"fmt"
)

// ReadBody is the payload of a READ request, 28 bytes (RFC 5040, 4.4).
type ReadBody struct {
	SinkSTag uint32 // destination of the response: steering tag and offset
	SinkTO   uint64
	Len      uint32
	SrcSTag  uint32 // source of the data
	SrcTO    uint64
}

// ReadBodyLen is the size of a ReadBody in bytes.
const ReadBodyLen = 28

// Append appends the body.
func (r *ReadBody) Append(b []byte) []byte {
	be := binary.BigEndian
	b = be.AppendUint64(be.AppendUint32(b, r.SinkSTag), r.SinkTO)
	b = be.AppendUint32(be.AppendUint32(b, r.Len), r.SrcSTag)
	return be.AppendUint64(b, r.SrcTO)
}

// Decode reads a body.
func (r *ReadBody) Decode(b []byte) error {
	if len(b) != ReadBodyLen {
		return fmt.Errorf("iwarp: READ request of %d bytes; want %d", len(b), ReadBodyLen)
	}
	be := binary.BigEndian
	*r = ReadBody{be.Uint32(b), be.Uint64(b[4:]), be.Uint32(b[12:]), be.Uint32(b[16:]), be.Uint64(b[20:])}
	return nil
}

// Layer is the layer that reports an error in a Terminate (RFC 5040, 4.8).
type Layer uint8

// The layers.
const (
	LayerRDMAP Layer = iota
	LayerDDP
	LayerLLP
)

// TerminateBody is the payload of a Terminate message: the layer that found the error, the error, and the length and
// the headers of the segment in error, each if its bit M, D or R is set (RFC 5040, 4.8).
type TerminateBody struct {
	Layer   Layer // 4 bits
	Type    uint8 // 4 bits
	Code    uint8
	Bits    uint8  // M, D and R, in that order from the top of three bits: which of the following are present
	Length  uint16 // M: of the DDP segment
	Headers []byte // D and R: DDP header, and RDMAP header
}

// The bits of TerminateBody.Bits.
const (
	TerminateM = 4 // the segment's length follows
	TerminateD = 2 // its DDP header follows
	TerminateR = 1 // its RDMAP header follows
)

// terminateLen is the size of the control field in bytes, its reserved byte included.
const terminateLen = 4

// Append appends the body.
func (t *TerminateBody) Append(b []byte) []byte {
	b = append(b, byte(t.Layer&15)<<4|t.Type&15, t.Code, t.Bits<<5, 0)
	if t.Bits&TerminateM != 0 {
		b = binary.BigEndian.AppendUint16(b, t.Length)
	}
	return append(b, t.Headers...)
}

// Decode reads a body; Headers refers to b.
func (t *TerminateBody) Decode(b []byte) error {
	if len(b) < terminateLen {
		return fmt.Errorf("iwarp: Terminate of %d bytes; want %d at least", len(b), terminateLen)
	}
	*t = TerminateBody{Layer: Layer(b[0] >> 4), Type: b[0] & 15, Code: b[1], Bits: b[2] >> 5}
	b = b[terminateLen:]
	if t.Bits&TerminateM != 0 {
		if len(b) < 2 {
			return fmt.Errorf("iwarp: Terminate ends before the segment length that it announces")
		}
		t.Length, b = binary.BigEndian.Uint16(b), b[2:]
	}
	t.Headers = b
	return nil
}
