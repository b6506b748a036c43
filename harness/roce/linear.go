package roce

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"
	"sync"
)

// CRC-32 is linear over GF(2): that of A with B behind it is that of A, multiplied by x once for each bit of B, plus
// that of B. So of the ICRC of a packet, the CRC of its headers, and the CRC of its payload, two tell the third, and
// nobody reads the payload twice.

// advance multiplies CRCs by x for each bit of one number of bytes.
type advance [4][256]uint32

// of returns the product for a CRC.
func (a *advance) of(sum uint32) uint32 {
	return a[0][sum&0xFF] ^ a[1][sum>>8&0xFF] ^ a[2][sum>>16&0xFF] ^ a[3][sum>>24]
}

// newAdvance makes the table for n bytes: the products of single bits are what n zeros make of them, and sums of these
// the rest.
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

// fulls are the tables for full packets, by path MTU.
var fulls = func() (list [len(PathMTUs)]func() *advance) {
	for i, n := range PathMTUs {
		list[i] = sync.OnceValue(func() *advance { return newAdvance(n) })
	}
	return list
}()

// PayloadSum returns the CRC-32 of the payload, 0 when there is none. The bytes b are those that f has just been
// decoded from, and their ICRC is known to be right.
func (f *Frame) PayloadSum(b []byte) uint32 {
	if head, at, full := f.full(b); full != nil {
		return binary.LittleEndian.Uint32(b[at.end-icrcLen:]) ^ full.of(invariant(head, at.v6))
	}
	return payloadSum(f.Packet.Payload)
}

// Sums returns the CRC-32 of the payload, 0 when there is none, and whether the ICRC is right, of the bytes b that f
// has just been decoded from.
func (f *Frame) Sums(b []byte) (payload uint32, right bool) {
	payload = payloadSum(f.Packet.Payload)
	if head, at, full := f.full(b); full != nil {
		return payload, binary.LittleEndian.Uint32(b[at.end-icrcLen:]) == payload^full.of(invariant(head, at.v6))
	}
	return payload, f.ICRCOK(b)
}

// ICRCOver does what ICRCOK does when the CRC-32 of the payload is known: that of a full packet is not read again.
func (f *Frame) ICRCOver(b []byte, payload uint32) bool {
	if head, at, full := f.full(b); full != nil {
		return binary.LittleEndian.Uint32(b[at.end-icrcLen:]) == payload^full.of(invariant(head, at.v6))
	}
	return f.ICRCOK(b)
}

// full returns the headers of a full packet from IP on, where it lies, and the table for its payload; nil for others.
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

// fullOf returns the table for the payload of a full packet; nil for others.
func fullOf(p *Packet) *advance {
	if !IsPathMTU(p.Len) || len(p.Payload) != p.Len {
		return nil
	}
	return fulls[bits.TrailingZeros(uint(p.Len))-bits.TrailingZeros(uint(PathMTUs[0]))]()
}

// payloadSum is the CRC-32 of a payload, and zero when there is none.
func payloadSum(b []byte) uint32 {
	if len(b) == 0 {
		return 0
	}
	return crc32.ChecksumIEEE(b)
}
