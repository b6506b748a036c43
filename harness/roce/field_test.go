package roce

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestFieldSpan(t *testing.T) {
	write := writeFrame(10)
	write.Packet.Opcode = WriteOnlyImm
	ack := writeFrame(0)
	ack.Packet.Opcode = RACK
	repair := writeFrame(20)
	repair.Packet.Opcode, repair.Packet.Repair.Type = LoWAR, RepairData
	tagged := overIPv6(writeFrame(10))
	tagged.HasVLAN = true
	for _, tt := range []struct {
		of     *Frame
		name   string
		off, n int // n is 0 for a field that the frame lacks
	}{
		{write, "tos", 15, 1}, {write, "ttl", 22, 1}, {write, "iplen", 16, 2},
		{write, "udpsport", 34, 2}, {write, "udplen", 38, 2},
		{write, "opcode", 42, 1}, {write, "flags", 43, 1}, {write, "pkey", 44, 2}, {write, "destqp", 47, 3},
		{write, "ackreq", 50, 1}, {write, "psn", 51, 3},
		{write, "va", 54, 8}, {write, "rkey", 62, 4}, {write, "dmalen", 66, 4}, {write, "imm", 70, 4},
		{write, "payload", 74, 10}, {write, "icrc", 86, 4},
		{write, "syndrome", 0, 0}, {write, "nonsense", 0, 0},
		{ack, "syndrome", 54, 1}, {ack, "msn", 55, 3}, {ack, "lost", 58, 1}, {ack, "sack", 59, 3}, {ack, "icrc", 62, 4},
		{ack, "payload", 0, 0}, {ack, "va", 0, 0},
		{repair, "opcode", 42, 1}, {repair, "destqp", 43, 3}, {repair, "payload", 66, 20}, {repair, "psn", 0, 0},
		{repair, "type", 46, 1}, {repair, "isn", 48, 1}, {repair, "c", 49, 1}, {repair, "r", 50, 2},
		{repair, "n", 52, 2},
		{repair, "epoch", 54, 1}, {repair, "bpsn", 55, 3}, {repair, "lastlen", 58, 2}, {repair, "xorlen", 60, 2},
		{repair, "check", 62, 4}, {repair, "icrc", 86, 4},
		{tagged, "tos", 18, 2}, {tagged, "ttl", 25, 1}, {tagged, "iplen", 22, 2}, {tagged, "udpsport", 58, 2},
		{tagged, "psn", 75, 3}, {tagged, "payload", 78, 10},
	} {
		off, n, ok := FieldSpan(tt.of.AppendTo(nil), tt.name)
		if off != tt.off && tt.n != 0 || n != tt.n || ok != (tt.n != 0) {
			t.Errorf("%v %s: %d+%d %v, want %d+%d", tt.of.Packet.Opcode, tt.name, off, n, ok, tt.off, tt.n)
		}
	}
}

// TestReseal edits any field by hand: the ICRC fails unless it does not cover the field, and passes after Reseal.
func TestReseal(t *testing.T) {
	names := []string{"psn", "destqp", "pkey", "va", "rkey", "msn", "imm", "payload", "ttl", "tos", "udpsport"}
	rapid.Check(t, func(t *rapid.T) {
		f := frames().Draw(t, "frame")
		b := f.AppendTo(nil)
		name := rapid.SampledFrom(present(b, names)).Draw(t, "field")
		off, n, _ := FieldSpan(b, name)
		b[off+n-1] ^= 1 // in an IPv6 "tos" this is a bit of the flow label
		if exempt := name == "ttl" || name == "tos"; CheckICRC(b) != exempt {
			t.Fatalf("after an edit of %s: ICRC ok = %v", name, !exempt)
		}
		var got Frame
		if !Reseal(b) || !CheckICRC(b) || got.Decode(b) != nil {
			t.Fatalf("after Reseal: ICRC ok = %v", CheckICRC(b))
		}
		want := got.AppendTo(nil)
		if string(want) != string(b) {
			t.Fatalf("resealed %x\nencoded  %x", b, want)
		}
	})
}

// present returns the names of the fields that the frame has.
func present(frame []byte, names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		_, _, ok := FieldSpan(frame, name)
		return !ok
	})
}

// TestResealUDPChecksum: Reseal updates a UDP checksum that is in use, as in the public UC capture.
func TestResealUDPChecksum(t *testing.T) {
	b := ucSendOnly(t)
	b[50] ^= 0x80
	b[40] ^= 0x55
	Reseal(b)
	b[50] ^= 0x80
	Reseal(b)
	if want := ucSendOnly(t); string(b) != string(want) {
		t.Errorf("got  %x\nwant %x", b, want)
	}
}

// TestUDPChecksumNotZero encodes a packet whose checksum is zero, which would mean "no checksum" (RFC 768).
func TestUDPChecksumNotZero(t *testing.T) {
	f := overIPv6(writeFrame(4))
	f.Packet.DestQP = 10081 // found by search
	if b := f.AppendTo(nil); b[60] != 0xFF || b[61] != 0xFF {
		t.Errorf("UDP checksum %x, want ffff", b[60:62])
	}
}

// TestMendIPv4 changes the TTL as a router does: the ICRC stays good, and the header checksum must be updated.
func TestMendIPv4(t *testing.T) {
	b := writeFrame(4).AppendTo(nil)
	b[22]--
	if internetSum(b[14:34]) == 0xFFFF {
		t.Fatal("header checksum does not notice the hop")
	}
	if MendIPv4(b); internetSum(b[14:34]) != 0xFFFF || !CheckICRC(b) {
		t.Errorf("after the hop: %x", b[14:34])
	}
}

// TestForeignBytes: the functions on raw frames refuse frames other than UDP over IP, of any length.
func TestForeignBytes(t *testing.T) {
	for _, f := range []*Frame{writeFrame(4), overIPv6(writeFrame(4))} {
		whole := f.AppendTo(nil)
		for n := range whole {
			b := append([]byte(nil), whole[:n]...)
			if CheckICRC(b) {
				t.Errorf("ICRC of %d bytes passes", n)
			}
			if _, _, ok := FieldSpan(b, "icrc"); ok != Reseal(b) || ok != CheckICRC(b) {
				t.Errorf("%d bytes have an ICRC (%v) and cannot be sealed, or the reverse", n, ok)
			}
		}
		whole[12] = 0x99
		if _, ok := ICRC(whole); ok || Reseal(whole) || CheckICRC(whole) {
			t.Error("a foreign EtherType is taken for IP")
		}
		if _, _, ok := FieldSpan(whole, "psn"); ok {
			t.Error("a foreign frame has a PSN")
		}
	}
}
