package roce

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"
	"sync"
)

// CRC-32 is linear over GF(2): the CRC of A followed by B is the CRC of A, multiplied by x once for each bit of B, plus
// the CRC of B. So of the ICRC of a packet, the CRC of its headers, and the CRC of its payload, any two give the third,
// and the payload need not be read twice.

// advance multiplies a CRC by x once for each bit of a fixed number of bytes: a table of products for each byte of the
// CRC.
type advance [4][256]uint32

// of returns the product of a CRC.
func (a *advance) of(sum uint32) uint32 {
	return a[0][sum&0xFF] ^ a[1][sum>>8&0xFF] ^ a[2][sum>>16&0xFF] ^ a[3][sum>>24]
}

// newAdvance builds the table for n bytes. The products of single bits are computed by a CRC over n zeros, the others
// as sums of these.
func newAdvance(n int) *advance {
	a, zeros := new(advance), make([]byte, n)
	for place := range a {
		row := &a[place]
		for i := 1; i < len(row); i++ {
			if low := i & -i; low == i {
				row[i] = ^crc32.Update(^(uint32(i) << (8 * place)), crc32.IEEETable, zeros)
			} else {
				row[i] = row[low] ^ row[i^low]
			}
		}
	}
	return a
}

// fulls holds the tables for full packets, by path MTU; each is built at its first use.
var fulls = func() (list [len(PathMTUs)]func() *advance) {
	for i, n := range PathMTUs {
		list[i] = sync.OnceValue(func() *advance { return newAdvance(n) })
	}
	return list
}()

// Sums returns the CRC-32 of the payload, 0 when there is none, and whether the ICRC is right. f has just been decoded
// from the frame b.
func (f *Frame) Sums(b []byte) (payload uint32, right bool) {
	payload = payloadSum(f.Packet.Payload)
	if head, at, full := f.full(b); full != nil {
		return payload, binary.LittleEndian.Uint32(b[at.end-icrcLen:]) == payload^full.of(invariant(head, at.v6))
	}
	return payload, f.ICRCOK(b)
}

// ICRCOver is ICRCOK for a known CRC-32 of the payload, which saves reading the payload of a full packet again.
func (f *Frame) ICRCOver(b []byte, payload uint32) bool {
	if head, at, full := f.full(b); full != nil {
		return binary.LittleEndian.Uint32(b[at.end-icrcLen:]) == payload^full.of(invariant(head, at.v6))
	}
	return f.ICRCOK(b)
}

// full returns the headers of a full packet from IP on, its offsets, and the table for its payload; a nil table for
// other packets.
func (f *Frame) full(b []byte) (head []byte, at span, full *advance) {
	if full = fullOf(&f.Packet); full == nil {
		return nil, at, nil
	}
	at, ok := locateIP(b, f.l3())
	if from := at.end - icrcLen - f.Packet.Len; ok && from > at.l4 && &b[from] == &f.Packet.Payload[0] {
		return b[at.l3:from], at, full
	}
	return nil, at, nil
}

// fullOf returns the table for the payload of a full packet; nil for other packets.
func fullOf(p *Packet) *advance {
	if !IsPathMTU(p.Len) || len(p.Payload) != p.Len {
		return nil
	}
	return fulls[bits.TrailingZeros(uint(p.Len))-bits.TrailingZeros(uint(PathMTUs[0]))]()
}

// payloadSum returns the CRC-32 of a payload, and zero for an empty one.
func payloadSum(b []byte) uint32 {
	if len(b) == 0 {
		return 0
	}
	return crc32.ChecksumIEEE(b)
}
