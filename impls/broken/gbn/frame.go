package gbn

import (
	"encoding/binary"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/engine/tamper"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// Offsets in a frame of IPv4 without VLAN, as the benches send them.
const (
	ipAt   = 14
	udpAt  = ipAt + 20
	bthAt  = udpAt + 8
	icrcAt = 4 // from the end
)

// sending adds a hook on outgoing frames, receiving one on arriving frames. The hook gets a copy, long enough to hold a
// BTH, and returns the frame to use; it may leave the checksums wrong.
func sending(change func(b []byte) []byte) func(*engine.Implementation) {
	return func(impl *engine.Implementation) {
		*impl = tamper.Around(*impl, tamper.Frames{Out: guarded(change)})
	}
}

func receiving(change func(b []byte) []byte) func(*engine.Implementation) {
	return func(impl *engine.Implementation) {
		*impl = tamper.Around(*impl, tamper.Frames{In: guarded(change)})
	}
}

func guarded(change func(b []byte) []byte) func([]byte) []byte {
	return func(frame []byte) []byte {
		if len(frame) < bthAt+12+icrcAt || frame[12] != 8 || frame[13] != 0 {
			return frame
		}
		return change(slices.Clone(frame))
	}
}

// resealed corrects the checksums and the ICRC.
func resealed(b []byte) []byte {
	roce.Reseal(b)
	return b
}

func opcode(b []byte) roce.Opcode { return roce.Opcode(b[bthAt]) }

// put writes a field of two bytes.
func put(b []byte, at, v int) { binary.BigEndian.PutUint16(b[at:], uint16(v)) }

// sized sets the length fields to the length of the frame.
func sized(b []byte) []byte {
	put(b, ipAt+2, len(b)-ipAt)
	put(b, udpAt+4, len(b)-udpAt)
	return b
}

// toB reports whether the destination address of a frame is that of side B.
func toB(b []byte) bool { return b[ipAt+19] == 2 }

// frames are the variants with a wrong encoding.
func frames() []recipe {
	return []recipe{
		{name: "df-clear", breaks: "clears the don't-fragment bit", catches: "WIRE-IP-001", scenarios: "mixed",
			impl: sending(func(b []byte) []byte { b[ipAt+6] = 0; return resealed(b) })},
		{name: "icrc-big-endian", breaks: "sends the ICRC in network byte order",
			catches: "WIRE-ICRC-001 WIRE-ICRC-003", scenarios: "mixed",
			impl: sending(func(b []byte) []byte { slices.Reverse(b[len(b)-icrcAt:]); return b })},
		{name: "icrc-covers-ttl", breaks: "includes TTL and ECN in the ICRC that it checks",
			catches: "WIRE-ICRC-002", scenarios: "rewritten",
			impl: receiving(func(b []byte) []byte {
				if b[ipAt+8] != 64 || b[ipAt+1] != 0 {
					b[len(b)-1] ^= 1
				}
				return b
			})},
		{name: "mac-astray", breaks: "sends every eighth packet to another MAC address", catches: "WIRE-MAC-001",
			scenarios: "mixed",
			impl: sending(func(b []byte) []byte {
				if b[bthAt+11]%8 == 5 {
					b[5] ^= 1
				}
				return b
			})},
		{name: "opcode-reserved", breaks: "sends WRITE_MIDDLE with a reserved opcode",
			catches: "WIRE-OPC-002", scenarios: "mixed",
			impl: sending(func(b []byte) []byte {
				if opcode(b) == roce.WriteMiddle {
					b[bthAt] = 0x15
				}
				return resealed(b)
			})},
		{name: "pad-dirty", breaks: "leaves old bytes in the padding",
			catches: "WIRE-BTH-003 WIRE-EXT-002", scenarios: "mixed",
			impl: sending(func(b []byte) []byte {
				for i := range int(b[bthAt+1] >> 4 & 3) {
					b[len(b)-icrcAt-1-i] = 0xEE
				}
				return resealed(b)
			})},
		{name: "payload-on-ack", breaks: "sends four bytes of payload with an ACK", catches: "WIRE-OPC-001",
			scenarios: "mixed",
			impl: sending(func(b []byte) []byte {
				if opcode(b) != roce.Acknowledge {
					return b
				}
				return resealed(sized(append(b, 0, 0, 0, 0)))
			})},
		{name: "port-other", breaks: "sends to UDP port 4790", catches: "WIRE-UDP-001", scenarios: "mixed",
			impl: sending(func(b []byte) []byte { put(b, udpAt+2, roce.Port-1); return resealed(b) })},
		{name: "source-port-changes", breaks: "uses another UDP source port for every packet", catches: "WIRE-UDP-002",
			scenarios: "mixed",
			impl:      sending(func(b []byte) []byte { b[udpAt+1] = b[bthAt+11]; return resealed(b) })},
		{name: "udp-length", breaks: "does not count the ICRC in the UDP length", catches: "WIRE-UDP-003",
			scenarios: "mixed",
			impl:      sending(func(b []byte) []byte { put(b, udpAt+4, len(b)-udpAt-icrcAt); return resealed(b) })},
	}
}
