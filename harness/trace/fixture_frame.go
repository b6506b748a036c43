package trace

import (
	"encoding/binary"
	"strconv"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// macOf is the locally administered address of a side in frames that this package makes.
func macOf(s Side) [6]byte { return [6]byte{2, 0, 0, 0, 0, 0xA + byte(s)} }

// frame returns the bytes of p on its way from a side of c, with the words applied.
func (f *frameWords) frame(c *Conn, from Side, p *roce.Packet) []byte {
	src, dst := &c.Ends[from], &c.Ends[from.Other()]
	fr := roce.Frame{
		SrcMAC: macOf(from), DstMAC: macOf(from.Other()), Src: src.Addr, Dst: dst.Addr,
		TOS: f.tos, TTL: f.ttl, ID: f.id, DF: f.df != 0, SrcPort: src.Port, Packet: *p,
	}
	if f.sport != nil {
		fr.SrcPort = uint16(*f.sport)
	}
	if f.dport != nil {
		fr.DstPort = uint16(*f.dport)
	}
	return f.edit(fr.AppendTo(nil))
}

// edit applies the words that no encoder offers, and makes the checksums good again.
func (f *frameWords) edit(raw []byte) []byte {
	if f.extra != 0 {
		raw = resize(raw, f.extra)
	}
	for _, e := range f.bytes {
		if e.off < len(raw) {
			raw[e.off] = e.value
		}
	}
	setLength(raw, "iplen", f.iplen)
	setLength(raw, "udplen", f.udplen)
	roce.Reseal(raw)
	return raw
}

// resize adds n bytes before the ICRC, or removes -n, and corrects the lengths below the transport.
func resize(raw []byte, n int) []byte {
	const least = 50 // what roce needs to find the ICRC
	if n < 0 {
		n = max(n, min(0, least-len(raw)))
		raw = raw[:len(raw)+n]
	} else {
		raw = append(raw, make([]byte, n)...)
		clear(raw[len(raw)-n-icrcLen:])
	}
	setLength(raw, "iplen", signed(n))
	setLength(raw, "udplen", signed(n))
	return raw
}

// signed writes a difference with its sign, as a length word has it.
func signed(n int) string {
	if n < 0 {
		return strconv.Itoa(n)
	}
	return "+" + strconv.Itoa(n)
}

// setLength writes a length field; a value with a sign is added to what is there.
func setLength(raw []byte, field, value string) {
	off, _, ok := roce.FieldSpan(raw, field)
	if !ok || value == "" {
		return
	}
	n, _ := strconv.Atoi(value)
	if value[0] == '+' || value[0] == '-' {
		n += int(binary.BigEndian.Uint16(raw[off:]))
	}
	binary.BigEndian.PutUint16(raw[off:], uint16(n))
}
