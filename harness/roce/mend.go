package roce

// MendIPv4 recomputes the IPv4 header checksum and nothing else, as a router does that changed TTL or TOS: the ICRC
// leaves both fields out. A frame that is not UDP over IPv4 stays as it is.
func MendIPv4(frame []byte) {
	if at, ok := locate(frame); ok && !at.v6 {
		putIPv4Checksum(frame[at.l3:at.end])
	}
}
