package iwarp

// CarriesData reports whether a TCP segment, header included, has data (RFC 9293, 3.1).
func CarriesData(segment []byte) bool {
	const offsetAt = 12
	return len(segment) > offsetAt && len(segment) > int(segment[offsetAt]>>4)*4
}
