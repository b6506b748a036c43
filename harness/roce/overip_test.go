package roce

import (
	"bytes"
	"encoding/hex"
	"errors"
	"net/netip"
	"strings"
	"testing"
)

// datagram returns a frame to the port of iWARP with n bytes after the UDP header.
func datagram(n int) Frame {
	payload := append([]byte{0xC0, 0x11, PortIWARP >> 8, PortIWARP & 0xFF, 0, byte(8 + n), 0, 0},
		bytes.Repeat([]byte{0xA5}, n)...)
	return Frame{DstMAC: [6]byte{2, 0, 0, 0, 0, 2}, SrcMAC: [6]byte{2, 0, 0, 0, 0, 1}, TTL: 64,
		Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.0.0.2"),
		Packet: Packet{BTH: BTH{Opcode: UDP}, IP: IP{ID: 7}, Payload: payload, Len: len(payload)}}
}

func TestDatagramGolden(t *testing.T) {
	f := datagram(4)
	got := f.AppendTo(nil)
	want := "020000000002" + "020000000001" + "0800" + "45000020" + "00070000" + "401166c4" + "0a000001" + "0a000002" +
		"c01112bb000c0000" + "a5a5a5a5"
	if hex.EncodeToString(got) != want {
		t.Errorf("is   %x\nwant %s", got, want)
	}
	if f.Len() != len(got) || f.WireLen() != 84 || f.Packet.WireLen(false) != 84 {
		t.Errorf("lengths %d, %d, %d", f.Len(), f.WireLen(), f.Packet.WireLen(false))
	}
	var back Frame
	if err := back.DecodeAny(got); err != nil || back.SrcPort != 0xC011 || back.DstPort != PortIWARP ||
		back.Packet.IP.ID != 7 ||
		!bytes.Equal(back.Packet.Payload, f.Packet.Payload) {
		t.Errorf("reads back as %+v, %v", back, err)
	}
	if err := back.Decode(got); !errors.Is(err, ErrNotRoCE) {
		t.Errorf("Decode: %v", err)
	}
}

// A fragment without ports is accepted; a first fragment to another port, and a fragment to the port of RoCEv2, are
// not.
func TestFragments(t *testing.T) {
	f := datagram(40)
	f.Packet.IP = IP{ID: 9, Fragment: NewFragment(1480, true)}
	var back Frame
	raw := f.AppendTo(nil)
	if err := back.DecodeAny(raw); err != nil || back.Packet.IP != f.Packet.IP || back.SrcPort != 0 {
		t.Errorf("reads back as %+v, %v", back, err)
	}
	f.Packet.IP.Fragment = NewFragment(0, true)
	f.Packet.Payload[2] = 0
	if err := back.DecodeAny(f.AppendTo(nil)); err == nil {
		t.Error("a first fragment to another port was taken")
	}
	for n := range raw {
		if back.DecodeAny(raw[:n]) == nil {
			t.Errorf("%d of %d bytes were taken", n, len(raw))
		}
	}
}

// The checksum of a segment is right, and so is that of a SYN captured elsewhere.
func TestTCPChecksum(t *testing.T) {
	f := datagram(0)
	f.Packet.Opcode = TCP
	f.Packet.Payload = append([]byte{0xC0, 0x11, PortIWARP >> 8, PortIWARP & 0xFF}, make([]byte, 33)...)
	f.Packet.Payload[12] = 5 << 4
	raw := f.AppendTo(nil)
	if !TCPChecksumOK(raw) {
		t.Errorf("%x", raw)
	}
	var back Frame
	if err := back.DecodeAny(raw); err != nil || back.Packet.Opcode != TCP || back.DstPort != PortIWARP {
		t.Errorf("reads back as %+v, %v", back, err)
	}
	raw[60] ^= 4
	if TCPChecksumOK(raw) {
		t.Error("a changed byte was not noticed")
	}
	if !Reseal(raw) || !TCPChecksumOK(raw) {
		t.Error("Reseal did not mend it")
	}
}

func TestOverIPText(t *testing.T) {
	for _, text := range []string{"UDP len=3 data=010203", "UDP len=2000 ipid=5 frag=1480 MF",
		"TCP len=1 ipid=65535 data=ff", "TCP"} {
		p, err := ParsePacket(text)
		if err != nil || p.String() != text {
			t.Errorf("%q prints as %q, %v", text, p.String(), err)
		}
	}
	for text, want := range map[string]string{
		"UDP data=0": "data: want", "UDP len=4 data=01": "len=4, and 1 bytes", "UDP psn=1": "no psn",
		"UDP A":       "unknown word A",
		"ACK data=01": "has no data", "ACK MF": "unknown word MF", "SEND_ONLY ipid=1": "has no ipid",
	} {
		if _, err := ParsePacket(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// Opcodes beyond a byte are distinct from those of a BTH, and have no BTH.
func TestOverIPOpcodes(t *testing.T) {
	for _, o := range []Opcode{UDP, TCP} {
		if !o.OverIP() || !o.Known() || o.IsRequest() || o.IsResponse() || o.HeaderLen() != 0 || o.Class() != ClassIP {
			t.Errorf("%v: header of %d bytes, class %v", o, o.HeaderLen(), o.Class())
		}
	}
	for o := range Opcode(256) {
		if o.OverIP() {
			t.Errorf("%v is taken for no RoCEv2", o)
		}
	}
}

func TestOverIPAllocations(t *testing.T) {
	f := datagram(100)
	raw := f.AppendTo(nil)
	var back Frame
	if n := testing.AllocsPerRun(100, func() {
		raw = f.AppendTo(raw[:0])
		if back.DecodeAny(raw) != nil {
			t.Fatal("does not decode")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A decoded frame encodes to the same bytes, except for header fields that a packet does not keep.
func FuzzDecodeAny(f *testing.F) {
	d := datagram(40)
	f.Add(d.AppendTo(nil))
	d.Packet.IP = IP{ID: 1, Fragment: NewFragment(8, true)}
	f.Add(d.AppendTo(nil))
	d.Packet.Opcode, d.Packet.IP = TCP, IP{}
	f.Add(d.AppendTo(nil))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var a, b Frame
		if a.DecodeAny(raw) != nil || !a.Packet.Opcode.OverIP() {
			return
		}
		again := a.AppendTo(nil)
		if err := b.DecodeAny(again); err != nil || b.Packet.IP != a.Packet.IP || b.Packet.Opcode != a.Packet.Opcode ||
			b.Packet.Len != a.Packet.Len {
			t.Fatalf("%+v\nreads back as\n%+v, %v", a, b, err)
		}
		Reseal(raw)
		MendIPv4(raw)
		TCPChecksumOK(raw)
		FieldSpan(raw, "payload")
	})
}
