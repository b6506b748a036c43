package roce

// MendIPv4 recomputes only the IPv4 header checksum, as a router does after it changes TTL or TOS: the ICRC masks both
// fields. A frame that is neither RoCEv2 over IPv4 nor one that DecodeAny reads stays as it is.
func MendIPv4(frame []byte) {
	if at, ok := locate(frame); ok && !at.v6 {
		putIPv4Checksum(frame[at.l3:at.end])
	} else if _, end, ok := overIP(frame); ok {
		putIPv4Checksum(frame[ethLen:end])
	}
}
