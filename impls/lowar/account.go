package lowar

// Memory is the "Extra Memory Breakdown" of an endpoint (Table I), in bytes.
type Memory struct {
	State      int // "extra states for tracking messages and the bitmap" (V), of all QPs
	Encoding   int // Encoding Buffer: the units of blocks that are sent
	Decoding   int // Decoding Buffer: the units of blocks that are received
	Reordering int // Reordering Buffer
}

// Bits of the packed fields that a NIC would keep for a stream, beside those that depend on r and c. The fields of this
// package are not packed.
const (
	psnBits, countBits, depthBits, epochBits, lengthBits, timeBits, flagBits = 24, 16, 8, 8, 16, 32, 8
	encoderBits                                                              = 2*psnBits + 2*countBits + depthBits +
		epochBits + lengthBits + flagBits
	decoderBits = 2*psnBits + 3*countBits + depthBits +
		epochBits + timeBits + flagBits
)

// Account returns the memory of the shim for qps QPs with the parameters r and c, units coding units in each of the two
// buffers, and a Reordering Buffer of rob packets. The prototype has 512 QPs, 1024 units and 2048 packets, and 0.3,
// 1.1, 1.1 and 2.4 MB (Table I).
//
// A QP has four streams, requests and READ responses each way. A received stream needs a bit and an index into the ROB
// for each packet of a block, and every stream the indices of its c units. A packet in the ROB takes the size of a unit
// and a descriptor: its QP, its PSN, its length, and the headers below the transport.
func Account(mtu, qps, r, c, units, rob int) Memory {
	const descriptor = 3 + 3 + 2 + 14 + 20 + 8
	unitBits, robBits := width(units), width(rob)
	stream := encoderBits + decoderBits + 2*c*unitBits + r*(1+robBits)
	return Memory{
		State:      qps * 2 * stream / 8,
		Encoding:   units * unitSize(mtu),
		Decoding:   units * unitSize(mtu),
		Reordering: rob * (unitSize(mtu) + descriptor),
	}
}

// width returns the number of bits of an index with n values and null.
func width(n int) int {
	w := 0
	for ; n > 0; n >>= 1 {
		w++
	}
	return w
}
