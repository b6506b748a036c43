package roce

import (
	"bytes"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
)

// FuzzDecode feeds arbitrary frames. The seeds in testdata are the two public captures and one frame of every layout.
func FuzzDecode(f *testing.F) {
	for _, op := range knownOpcodes() {
		g := writeFrame(0)
		g.Packet = randomPacket(op, 5, uint64(op))
		f.Add(g.AppendTo(nil))
		f.Add(overIPv6(g).AppendTo(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, name := range []string{"opcode", "psn", "va", "payload", "icrc", "tos"} {
			if off, n, ok := FieldSpan(b, name); ok && (off < 0 || n < 0 || off+n > len(b)) {
				t.Fatalf("%s at %d+%d of %d bytes", name, off, n, len(b))
			}
		}
		before := bytes.Clone(b)
		var fr Frame
		err := fr.Decode(b)
		ok := CheckICRC(b)
		if !bytes.Equal(before, b) {
			t.Fatal("decoding changed the frame")
		}
		if err != nil {
			return
		}
		if fr.ICRCOK(b) != ok {
			t.Fatal("ICRCOK and CheckICRC disagree")
		}
		checkReencode(t, &fr, b)
	})
}

// checkReencode requires that the encoding of a decoded frame is a fixed point, and that a canonical frame encodes to
// the same bytes: right ICRC and checksums, zeros in undefined bits, nothing after the end.
func checkReencode(t *testing.T, fr *Frame, b []byte) {
	t.Helper()
	out := fr.AppendTo(nil)
	var again Frame
	if err := again.Decode(out); err != nil || !bytes.Equal(again.AppendTo(nil), out) || !CheckICRC(out) {
		t.Fatalf("encoded %x does not decode to itself: %v", out, err)
	}
	if again.Packet.String() != fr.Packet.String() {
		t.Fatalf("%v became %v", &fr.Packet, &again.Packet)
	}
	if len(out) > len(b) {
		t.Fatalf("encoded %d bytes from %d", len(out), len(b))
	}
	if payload, n, _ := FieldSpan(out, "payload"); !bytes.Equal(out[payload:payload+n], fr.Packet.Payload) {
		t.Fatal("payload changed")
	}
	if fr.ICRCOK(b) && canonicalBytes(fr, b) && !bytes.Equal(out, b) {
		t.Fatalf("canonical frame changed\n got %x\nwant %x", out, b)
	}
}

// canonicalBytes reports whether b has the canonical values where a Frame keeps none: the reserved IPv4 flag, the IPv4
// UDP checksum, padding, and reserved bits of extended headers.
func canonicalBytes(fr *Frame, b []byte) bool {
	if fr.Len() != len(b) {
		return false
	}
	clean := bytes.Clone(b)
	ib := fr.l4() + udpLen
	end := len(b) - icrcLen
	if !fr.isIPv6() {
		clean[fr.l3()+6] &= 0x7F
		clean[fr.l4()+6], clean[fr.l4()+7] = 0, 0
	}
	l := fr.Packet.Layout()
	if l&LayoutRepair != 0 {
		clean[ib+5] &^= 1
	}
	for _, h := range []Layout{LayoutDETH, LayoutSACKETH, LayoutSOETH} {
		off := ib + (l & (h - 1)).Len()
		switch {
		case l&h == 0:
		case h == LayoutDETH:
			clean[off+4] = 0
		case h == LayoutSACKETH:
			clean[off] &= 0xE0
		default:
			clean[off] = 0
		}
	}
	if l&LayoutBTH != 0 {
		clear(clean[end-int(fr.Packet.Pad) : end])
	}
	Reseal(clean)
	return bytes.Equal(clean, b)
}

// FuzzParse parses any text: the String of a parsed packet parses to the same packet.
func FuzzParse(f *testing.F) {
	for _, op := range knownOpcodes() {
		p := canonical(randomPacket(op, 5, uint64(op)))
		f.Add(p.String(), uint32(p.PSN))
		f.Add(string(p.AppendText(nil, TextOptions{Relative: true, Base: 7})), uint32(7))
	}
	f.Fuzz(func(t *testing.T, s string, start uint32) {
		base := psn.New(start)
		p, err := ParsePacketAt(s, base)
		if err != nil {
			return
		}
		text := p.String()
		q, err := ParsePacket(text)
		if err != nil || q.String() != text {
			t.Fatalf("%q printed as %q, which parses to %v, %v", s, text, &q, err)
		}
		relative := string(p.AppendText(nil, TextOptions{Relative: true, Base: base}))
		if r, err := ParsePacketAt(relative, base); err != nil || r.String() != text {
			t.Fatalf("%q printed as %q, which parses to %v, %v", s, relative, &r, err)
		}
		if p.TransportLen() > MaxPayload+64 {
			t.Fatalf("%q takes %d bytes", s, p.TransportLen())
		}
	})
}
