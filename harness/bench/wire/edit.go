package wire

import (
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/netem/channel"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
)

// Alter applies to the frame what a channel decided short of dropping it: a rewritten field, a congestion mark, a flipped
// bit. Checksums that a router would mend are mended (the IPv4 header's); the ICRC stays as it was, which a rewrite of
// masked fields does not disturb and a flipped bit does.
func Alter(frame []byte, v *channel.Verdict) {
	if v.Rewrite != "" {
		rewrite(frame, v.Rewrite, v.Value)
	}
	if v.Mark {
		rewrite(frame, fault.ECN, 3)
	}
	if v.Corrupt != "" {
		flip(frame, v)
	}
}

// flip inverts one bit of the field that the verdict names; a frame without that field has a bit of its ICRC flipped, so
// that a scripted corruption never passes unnoticed.
func flip(frame []byte, v *channel.Verdict) {
	off, n := region(frame, v.Corrupt)
	if n == 0 {
		off, n, _ = roce.FieldSpan(frame, "icrc")
	}
	if n > 0 {
		bit := v.Bit(8 * n)
		frame[off+bit/8] ^= 0x80 >> (bit % 8)
	}
}

// region returns where a field, or a header, lies.
func region(frame []byte, f fault.Field) (off, n int) {
	at := func(name string) (int, int) {
		o, n, ok := roce.FieldSpan(frame, name)
		if !ok {
			return 0, 0
		}
		return o, n
	}
	ib, _ := at("opcode")
	udp, _ := at("udpsport")
	switch f {
	case fault.AnyField:
		return udp, len(frame) - udp
	case fault.IP:
		ttl, _ := at("ttl")
		return ttl, udp - ttl
	case fault.UDP:
		return udp, 8
	case fault.BTH:
		return ib, 12
	case fault.DestQP:
		return at("destqp")
	case fault.Ext:
		return ib + 12, roce.Opcode(frame[ib]).HeaderLen() - 12
	}
	return at(string(f))
}

// rewrite sets a field that routers may change. The BTH's FECN and BECN are the top bits of its fifth byte.
func rewrite(frame []byte, f fault.Field, value int) {
	byteField := func(name string, back int, mask byte, shift int) {
		if off, _, ok := roce.FieldSpan(frame, name); ok {
			frame[off-back] = frame[off-back]&^mask | byte(value)<<shift&mask
		}
	}
	switch f {
	case fault.TTL:
		byteField("ttl", 0, 0xFF, 0)
	case fault.TOS:
		byteField("tos", 0, 0xFF, 0)
	case fault.DSCP:
		byteField("tos", 0, 0xFC, 2)
	case fault.ECN:
		byteField("tos", 0, 0x03, 0)
	case fault.FECN:
		byteField("destqp", 1, 0x80, 7)
	case fault.BECN:
		byteField("destqp", 1, 0x40, 6)
	case fault.Resv8a:
		byteField("destqp", 1, 0xFF, 0)
	case fault.UDPSum:
		if off, _, ok := roce.FieldSpan(frame, "udplen"); ok {
			frame[off+2], frame[off+3] = byte(value>>8), byte(value)
		}
	}
	roce.MendIPv4(frame)
}
