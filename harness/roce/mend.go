package roce

// MendIPv4 recomputes the IPv4 header checksum and nothing else, as a router does that changed TTL or TOS: the ICRC
// leaves both fields out. A frame that is neither RoCEv2 over IPv4 nor one that DecodeAny reads stays as it is.
func MendIPv4(frame []byte) {
	if at, ok := locate(frame); ok && !at.v6 {
		putIPv4Checksum(frame[at.l3:at.end])
	} else if _, end, ok := overIP(frame); ok {
		putIPv4Checksum(frame[ethLen:end])
	}
}
