package roce

import (
	"encoding/binary"
	"math/bits"
)

// Fingerprint returns a hash of a frame's bytes from the EtherType on, without the TTL and the header checksum, which
// every router changes. It allocates nothing and takes any frame, including one that no decoder reads. Frames that
// differ in one word of eight bytes always have different hashes; other pairs collide with probability 2^-64.
func Fingerprint(frame []byte) uint64 { return fingerprint(frame, false) }

// FingerprintAnyClass is Fingerprint without the traffic class, which switches change: they mark what waits in a queue.
func FingerprintAnyClass(frame []byte) uint64 { return fingerprint(frame, true) }

func fingerprint(frame []byte, anyClass bool) uint64 {
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
	if anyClass {
		maskClass(&head)
	}
	for at := 0; at < len(head); at += 8 {
		sum = stir(sum, binary.LittleEndian.Uint64(head[at:]))
	}
	rest := body[n:]
	lanes := [4]uint64{1, 2, 3, 4} // independent, so that a processor stirs all four in parallel
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

// maskClass clears the traffic class of an IP header.
func maskClass(head *[ipv6Len]byte) {
	switch head[0] >> 4 {
	case 4:
		head[1] = 0
	case 6:
		head[0], head[1] = head[0]&0xF0, head[1]&0x0F
	}
}

// stir mixes a word into a sum: a bijection of the word for a given sum, and of the sum for a given word.
func stir(sum, word uint64) uint64 {
	sum = (sum ^ word) * 0x9E3779B97F4A7C15 // an odd factor is invertible modulo 2^64
	sum ^= sum >> 29
	return bits.RotateLeft64(sum*0xBF58476D1CE4E5B9, 31)
}

// Protocols of the frames that kernels send on their own account.
const (
	etherARP   = 0x0806
	protoICMP  = 1
	protoIGMP  = 2
	protoHops  = 0 // IPv6 hop-by-hop options, before a report of multicast groups
	protoICMP6 = 58
)

// OfKernel reports whether a frame is one that a host's kernel sends on its own account: ARP, ICMP, IGMP, and their
// IPv6 counterparts. Such a frame is not part of a run. A packet of a run whose damaged header names one of these
// protocols over IPv4 is recognised by its wrong header checksum.
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

// headerSum returns the ones'-complement sum of an IPv4 header, checksum included: 0xFFFF when the checksum is right
// (RFC 1071).
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
