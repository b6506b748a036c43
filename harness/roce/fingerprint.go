package roce

import (
	"encoding/binary"
	"math/bits"
)

// Fingerprint identifies a frame by its bytes from the EtherType on, except for TTL and header checksum, which every
// router changes, and allocates nothing. It takes any frame, also one that no decoder reads. Frames that differ in one
// word of eight bytes never have the same one; of others a pair in 2^64 does.
func Fingerprint(frame []byte) uint64 {
	body := frame[min(ethLen, len(frame)):]
	sum := uint64(len(frame)) << 16
	if len(frame) >= ethLen {
		sum |= uint64(binary.BigEndian.Uint16(frame[ethLen-2:]))
	}
	var head [ipv6Len]byte
	n := copy(head[:], body)
	switch head[0] >> 4 {
	case 4:
		head[8], head[10], head[11] = 0, 0, 0
	case 6:
		head[7] = 0
	}
	for at := 0; at < len(head); at += 8 {
		sum = stir(sum, binary.LittleEndian.Uint64(head[at:]))
	}
	rest := body[n:]
	lanes := [4]uint64{1, 2, 3, 4} // of which a processor stirs all at once
	for ; len(rest) >= 32; rest = rest[32:] {
		for i := range lanes {
			lanes[i] = stir(lanes[i], binary.LittleEndian.Uint64(rest[8*i:]))
		}
	}
	for _, lane := range lanes {
		sum = stir(sum, lane)
	}
	for ; len(rest) >= 8; rest = rest[8:] {
		sum = stir(sum, binary.LittleEndian.Uint64(rest))
	}
	if len(rest) > 0 {
		var last [8]byte
		copy(last[:], rest)
		sum = stir(sum, binary.LittleEndian.Uint64(last[:]))
	}
	return sum
}

// stir mixes a word into a sum: for a given sum a bijection of the word, and for a given word one of the sum.
func stir(sum, word uint64) uint64 {
	sum = (sum ^ word) * 0x9E3779B97F4A7C15 // odd, so that no product is lost
	sum ^= sum >> 29
	return bits.RotateLeft64(sum*0xBF58476D1CE4E5B9, 31)
}

// Of what kernels send on their own account.
const (
	etherARP   = 0x0806
	protoICMP  = 1
	protoIGMP  = 2
	protoHops  = 0 // IPv6 hop-by-hop options, before a report of multicast groups
	protoICMP6 = 58
)

// OfKernel reports whether a frame is one that a host's kernel sends on its own account: ARP, ICMP, IGMP, and their
// like of IPv6. It is not of a run. A packet of a run that a damaged header makes look like one has the wrong header
// checksum.
func OfKernel(frame []byte) bool {
	if len(frame) < ethLen {
		return false
	}
	ip := frame[ethLen:]
	switch binary.BigEndian.Uint16(frame[ethLen-2:]) {
	case etherARP:
		return true
	case etherIPv6:
		return len(ip) >= ipv6Len && ip[0]>>4 == 6 && (ip[6] == protoICMP6 || ip[6] == protoHops)
	case etherIPv4:
		if len(ip) < ipv4Len || ip[0]>>4 != 4 || ip[9] != protoICMP && ip[9] != protoIGMP {
			return false
		}
		n := int(ip[0]&15) * 4
		return n >= ipv4Len && n <= len(ip) && headerSum(ip[:n]) == 0xFFFF
	}
	return false
}

// headerSum is the sum of an IPv4 header with its checksum, 0xFFFF when that is right (RFC 1071).
func headerSum(ip []byte) uint16 {
	sum := uint32(0)
	for ; len(ip) >= 2; ip = ip[2:] {
		sum += uint32(binary.BigEndian.Uint16(ip))
	}
	for sum>>16 != 0 {
		sum = sum>>16 + sum&0xFFFF
	}
	return uint16(sum)
}
