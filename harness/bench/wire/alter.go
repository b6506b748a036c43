package wire

import (
	"encoding/binary"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/netem/channel"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
)

// Alter applies the channel's changes to a frame that is delivered: a rewritten field, a congestion mark, a flipped
// bit. Checksums that a router would update are updated (the IPv4 header's); the ICRC is not, which remains right after
// a rewrite of masked fields (IBTA annex A17.3.3) and is wrong after a flipped bit.
func Alter(frame []byte, v *channel.Verdict) {
	if v.Rewrite != "" {
		rewrite(frame, v.Rewrite, v.Value)
	}
	if v.Mark {
		rewrite(frame, fault.ECN, congestionExperienced)
	}
	if v.Corrupt != "" && !flip(frame, v) {
		flipAnywhere(frame, v)
	}
}

// congestionExperienced is the ECN codepoint CE (RFC 3168, 5).
const congestionExperienced = 3

// flip inverts one bit of the field that the verdict names. If the frame does not have that field, or the ICRC does not
// cover the bit, a bit of the ICRC is inverted instead, so that a corruption is always detected. The result is false
// for a frame without either, and for one whose ICRC is wrong already.
func flip(frame []byte, v *channel.Verdict) bool {
	if off, n, ok := roce.OverIP(frame); ok {
		return flipOverIP(frame, off, n, v)
	}
	icrc, length, ok := roce.FieldSpan(frame, "icrc")
	if !ok || !roce.CheckICRC(frame) {
		return false
	}
	off, n := region(frame, v.Corrupt)
	if invert(frame, off, n, v) && !roce.CheckICRC(frame) {
		return true
	}
	invert(frame, off, n, v) // back
	return invert(frame, icrc, length, v)
}

// flipAnywhere inverts one bit of a malformed frame, or of another protocol's: after the position of an IP header, if
// the frame is long enough, because routers change bits of that.
func flipAnywhere(frame []byte, v *channel.Verdict) {
	off := ethernetLen + ipLen
	if len(frame) <= off {
		off = ethernetLen
	}
	invert(frame, off, len(frame)-off, v)
}

// flipOverIP inverts one bit of a packet without BTH, after the header with its ports: a receiver detects it by the CRC
// of iWARP, or by TCP's checksum. All fields that a fault can name are in this part.
func flipOverIP(frame []byte, off, n int, v *channel.Verdict) bool {
	if fragment := binary.BigEndian.Uint16(frame[ethernetLen+6:])&0x1FFF != 0; !fragment {
		skip := min(udpLen, n)
		off, n = off+skip, n-skip
	}
	if v.Corrupt == fault.Payload && flipBehindTCP(frame, v) {
		return true
	}
	return invert(frame, off, n, v)
}

// flipBehindTCP inverts one bit of the data of a TCP segment and updates the checksum, so that TCP does not detect the
// error and only the CRC of MPA can. The result is false for any other packet, and for a segment without data.
func flipBehindTCP(frame []byte, v *channel.Verdict) bool {
	off, n, ok := roce.TCPData(frame)
	if !ok || !invert(frame, off, n, v) {
		return false
	}
	roce.MendTCP(frame)
	return true
}

// invert flips one bit of n bytes, which the channel has drawn.
func invert(frame []byte, off, n int, v *channel.Verdict) bool {
	if n <= 0 || off+n > len(frame) {
		return false
	}
	bit := v.Bit(8 * n)
	frame[off+bit/8] ^= 0x80 >> (bit % 8)
	return true
}

// region returns where a field, or a header, lies; n is not positive when the frame has none.
func region(frame []byte, f fault.Field) (off, n int) {
	at := func(name string) (int, int) {
		o, n, _ := roce.FieldSpan(frame, name)
		return o, n
	}
	head, _ := at("opcode")
	udp, _ := at("udpsport")
	icrc, _ := at("icrc")
	tos, n := at("tos")
	// The traffic class is in the first two bytes of an IPv6 header, the TOS in the second of an IPv4 header.
	ip := tos - 2 + n
	switch f {
	case fault.AnyField:
		return ip, icrc + icrcLen - ip
	case fault.IP:
		return ip, udp - ip
	case fault.UDP:
		return udp, head - udp
	case fault.BTH:
		return head, min(bthLen, icrc-head)
	case fault.DestQP:
		return at("destqp")
	case fault.Ext:
		return head + bthLen, min(roce.Opcode(frame[head]).HeaderLen(), icrc-head) - bthLen
	}
	return at(string(f))
}

const bthLen = 12

// rewrite sets a field that routers may change; a frame without it stays as it is.
func rewrite(frame []byte, f fault.Field, value int) {
	switch f {
	case fault.TTL:
		put(frame, "ttl", 0, 0xFF, value)
	case fault.TOS:
		put(frame, "tos", 0, 0xFF, value)
	case fault.DSCP:
		put(frame, "tos", 0, 0xFC, value<<2)
	case fault.ECN:
		put(frame, "tos", 0, 0x03, value)
	case fault.FECN:
		put(frame, "pkey", 2, 0x80, value<<7) // the byte after the P_Key; a header other than a BTH has no P_Key
	case fault.BECN:
		put(frame, "pkey", 2, 0x40, value<<6)
	case fault.Resv8a:
		put(frame, "pkey", 2, 0xFF, value)
	case fault.UDPSum:
		if off, _, ok := roce.FieldSpan(frame, "udplen"); ok {
			binary.BigEndian.PutUint16(frame[off+2:], uint16(value))
		}
	}
	roce.MendIPv4(frame)
}

// put sets the bits of mask in the byte behind bytes after the start of a field. In IPv6 the traffic class extends over
// two bytes.
func put(frame []byte, name string, behind int, mask byte, value int) {
	off, n, ok := roce.FieldSpan(frame, name)
	switch {
	case !ok:
	case name == "tos" && n == 2:
		word := binary.BigEndian.Uint16(frame[off:])
		m := uint16(mask) << 4
		binary.BigEndian.PutUint16(frame[off:], word&^m|uint16(value)<<4&m)
	default:
		b := &frame[off+behind]
		*b = *b&^mask | byte(value)&mask
	}
}
