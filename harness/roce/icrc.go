package roce

import (
	"encoding/binary"
	"hash/crc32"
	"sync"
)

// afterLRH is the CRC-32 of eight bytes 0xFF, which stand in for the InfiniBand local route header (annex A17.3.3).
const afterLRH = ^uint32(0xDEBB20E3)

// maskedLen is how much of the IP packet is copied for masking. It covers IPv6, UDP and a BTH; and 64 bytes is where
// hash/crc32 starts to use carry-less multiplication.
const maskedLen = 64

// masked recycles the copies: crc32 is called through a function pointer, which would move one on the stack to the heap.
var masked = sync.Pool{New: func() any { return new([maskedLen]byte) }}

// icrc returns the invariant CRC of an IP packet without its last four bytes. Fields that routers change count as ones:
// TOS, TTL and checksum, their IPv6 counterparts, the UDP checksum, and BTH byte 4. In a LoWAR packet that byte is the
// type of a repair header, which nobody changes on the way.
func icrc(ip []byte, v6 bool) uint32 {
	m := masked.Get().(*[maskedLen]byte)
	n := copy(m[:], ip)
	udp := ipv4Len
	if v6 {
		udp = ipv6Len
		m[0] |= 0x0F
		m[1], m[2], m[3], m[7] = 0xFF, 0xFF, 0xFF, 0xFF
	} else {
		m[1], m[8], m[10], m[11] = 0xFF, 0xFF, 0xFF, 0xFF
	}
	m[udp+6], m[udp+7] = 0xFF, 0xFF
	if Opcode(m[udp+udpLen]) != LoWAR {
		m[udp+udpLen+4] = 0xFF
	}
	sum := crc32.Update(afterLRH, crc32.IEEETable, m[:n])
	masked.Put(m)
	return crc32.Update(sum, crc32.IEEETable, ip[n:])
}

// putICRC writes the ICRC into the last four bytes of an IP packet. Alone among the fields it is little-endian.
func putICRC(ip []byte, v6 bool) {
	body := len(ip) - icrcLen
	binary.LittleEndian.PutUint32(ip[body:], icrc(ip[:body], v6))
}

// ICRC computes the invariant CRC of a frame from its bytes, ignoring the one it carries; ok is false when the frame is
// not UDP over IP with room for a transport packet.
func ICRC(frame []byte) (sum uint32, ok bool) {
	at, ok := locate(frame)
	if !ok {
		return 0, false
	}
	return icrc(frame[at.l3:at.end-icrcLen], at.v6), true
}

// CheckICRC reports whether the frame carries the right invariant CRC.
func CheckICRC(frame []byte) bool {
	at, ok := locate(frame)
	return ok && at.sealed(frame)
}

// ICRCOK does what CheckICRC does, for the bytes b that f has just been decoded from.
func (f *Frame) ICRCOK(b []byte) bool {
	at, ok := locateIP(b, f.l3())
	return ok && at.sealed(b)
}

// sealed reports whether the ICRC at the end of the located packet is right.
func (s span) sealed(frame []byte) bool {
	body := s.end - icrcLen
	return binary.LittleEndian.Uint32(frame[body:]) == icrc(frame[s.l3:body], s.v6)
}
