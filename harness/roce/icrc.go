package roce

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"
	"sync"
)

// standIn is the number of bytes of ones that the ICRC covers in place of the InfiniBand local route header (annex
// A17.3.3).
const standIn = 8

// maskedLen is the number of bytes at the beginning of a packet, stand-in included, that invariant copies and masks.
// They hold IPv6, UDP and the part of the BTH that changes; and 64 bytes is where hash/crc32 starts to use carry-less
// multiplication.
const maskedLen = 64

// masked recycles copies: crc32 is called through a function pointer, so that a copy on the stack would escape to the
// heap.
var masked = sync.Pool{New: func() any { return new([maskedLen]byte) }}

// icrc returns the invariant CRC of a frame.
func icrc(frame []byte, at span) uint32 { return invariant(frame[at.l3:at.end-icrcLen], at.v6) }

// invariant returns the invariant CRC over body, which begins with the IP header and reaches beyond the BTH. It must
// not change body, so it masks a copy of the beginning. The CRC register starts with ones, and the first four bytes of
// ones of the stand-in bring it to zero. A register that starts at zero stays so over any number of zeros: therefore
// zeros replace these four bytes, and more zeros before them fill up the copy when body is short.
func invariant(body []byte, v6 bool) uint32 {
	m := masked.Get().(*[maskedLen]byte)
	n := min(len(body), maskedLen-standIn)
	head := m[maskedLen-standIn-n:]
	clear(m[:maskedLen-standIn-n])
	copy(head[standIn:], body)
	mask(head, v6)
	clear(head[:4])
	sum := crc32.Update(math.MaxUint32, crc32.IEEETable, m[:])
	masked.Put(m)
	if n == len(body) {
		return sum
	}
	return crc32.Update(sum, crc32.IEEETable, body[n:])
}

// putICRC writes the ICRC after a packet; it is the only little-endian field. The frame belongs to the encoder, so it
// is masked in place, with the end of the Ethernet header as stand-in, and restored: one run over all bytes is faster
// than two.
func putICRC(frame []byte, at span) {
	body := frame[at.l3-standIn : at.end-icrcLen]
	head, udp := (*[standIn + 12]byte)(body), frame[at.l4:at.end]
	saved, check, fourth := *head, [2]byte(udp[6:]), udp[udpLen+4]
	mask(body, at.v6)
	sum := crc32.Update(0, crc32.IEEETable, body)
	*head, udp[6], udp[7], udp[udpLen+4] = saved, check[0], check[1], fourth
	binary.LittleEndian.PutUint32(frame[at.end-icrcLen:], sum)
}

// mask sets to ones the stand-in, which is the beginning of b, and the fields that may change on the way: TOS, TTL and
// checksum, their IPv6 counterparts, the UDP checksum, and BTH byte 4. In a LoWAR packet that byte is the type of a
// repair header, which does not change on the way.
func mask(b []byte, v6 bool) {
	binary.BigEndian.PutUint64(b, math.MaxUint64)
	ip := b[standIn:]
	udp := ip[ipv4Len:]
	if v6 {
		udp = ip[ipv6Len:]
		ip[0] |= 0x0F
		ip[1], ip[2], ip[3], ip[7] = 0xFF, 0xFF, 0xFF, 0xFF
	} else {
		ip[1], ip[8], ip[10], ip[11] = 0xFF, 0xFF, 0xFF, 0xFF
	}
	udp[6], udp[7] = 0xFF, 0xFF
	if bth := udp[udpLen:]; len(bth) > 4 && Opcode(bth[0]) != LoWAR {
		bth[4] = 0xFF
	}
}

// ICRC computes the invariant CRC of a frame from its bytes, ignoring the one it carries; ok is false when the frame is
// not UDP over IP with room for a transport packet.
func ICRC(frame []byte) (sum uint32, ok bool) {
	at, ok := locate(frame)
	if !ok {
		return 0, false
	}
	return icrc(frame, at), true
}

// CheckICRC reports whether the frame carries the right invariant CRC.
func CheckICRC(frame []byte) bool {
	at, ok := locate(frame)
	return ok && at.sealed(frame)
}

// ICRCOK is CheckICRC for the frame b from which f has just been decoded.
func (f *Frame) ICRCOK(b []byte) bool {
	at, ok := locateIP(b, f.l3())
	return ok && at.sealed(b)
}

// sealed reports whether the ICRC behind the located packet is right.
func (s span) sealed(frame []byte) bool {
	return binary.LittleEndian.Uint32(frame[s.end-icrcLen:]) == icrc(frame, s)
}

// DecodeReserved reads a frame with the opcode of LoWAR as one from a sender that does not implement LoWAR, for which
// that opcode is reserved. The ICRC distinguishes the two: only LoWAR leaves byte 4 of the transport header unmasked.
// If the frame is such a packet, its BTH is filled in and the result is true.
func (f *Frame) DecodeReserved(b []byte) bool {
	at, ok := locate(b)
	bth := at.l4 + udpLen
	if !ok || at.end < bth+bthLen+icrcLen || Opcode(b[bth]) != LoWAR {
		return false
	}
	c := bytes.Clone(b)
	c[bth+4] = 0xFF
	if !at.sealed(c) {
		return false
	}
	f.Packet = Packet{}
	f.Packet.getBTH((*[bthLen]byte)(b[bth:]))
	return true
}
