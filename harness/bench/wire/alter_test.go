package wire

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"net/netip"
	"testing"

	"pgregory.net/rapid"

	"github.com/rdma-gauntlet/gauntlet/harness/drive"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/netem/channel"
	"github.com/rdma-gauntlet/gauntlet/netem/fault"
)

// encode returns the frame of a packet that A sends.
func encode(tb testing.TB, text string, edit func(*roce.Frame)) []byte {
	tb.Helper()
	p, err := roce.ParsePacket(text)
	if err != nil {
		tb.Fatal(err)
	}
	p.Payload = make([]byte, p.Len)
	for i := range p.Payload {
		p.Payload[i] = byte(i)
	}
	var f roce.Frame
	drive.Frame(&f, trace.A, 0, &p)
	if edit != nil {
		edit(&f)
	}
	return f.AppendTo(nil)
}

func v6(f *roce.Frame) {
	f.Src, f.Dst, f.FlowLabel, f.TOS = netip.MustParseAddr("fd00::1"), netip.MustParseAddr("fd00::2"), 0xABCDE, 0x5A
}

// checksumOK verifies the header checksum of an IPv4 frame (RFC 791).
func checksumOK(frame []byte) bool {
	sum := uint32(0)
	for i := ethernetLen; i < ethernetLen+ipLen; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(frame[i:]))
	}
	return sum>>16+sum&0xFFFF == 0xFFFF
}

// packets has every layout of headers, including those without payload, extended header, or BTH.
var packets = []string{"WRITE_FIRST psn=1 dmalen=4096 len=1024", "WRITE_MIDDLE psn=2 len=1024", "SEND_ONLY psn=3",
	"ACK psn=4 msn=1", "READ_REQUEST psn=5 dmalen=8", "CMP_SWAP psn=6", "ATOMIC_ACK psn=7",
	"SEND_ONLY_IMM psn=8 len=3 imm=4", "CNP psn=0", "LOWAR qp=5 len=9", "LOWAR qp=5"}

// A corruption flips one bit, in the field asked for if the packet has it, and the packet never passes the ICRC.
func TestCorrupt(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.SampledFrom(packets).Draw(rt, "packet")
		edit := rapid.SampledFrom(
			[]func(*roce.Frame){nil, v6, func(f *roce.Frame) { f.HasVLAN = true }}).Draw(rt, "frame")
		field := rapid.SampledFrom(fault.CorruptFields()).Draw(rt, "field")
		before := encode(t, text, edit)
		v := channel.Verdict{Fate: channel.Delivered, Corrupt: field, Draw: rapid.Uint64().Draw(rt, "draw")}
		after := bytes.Clone(before)
		Alter(after, &v)
		at, flipped := 0, 0
		for i := range before {
			if d := before[i] ^ after[i]; d != 0 {
				at, flipped = i, flipped+bits.OnesCount8(d)
			}
		}
		icrc, _, _ := roce.FieldSpan(before, "icrc")
		off, n := region(before, field)
		if flipped != 1 || (at < off || at >= off+n) && at < icrc {
			rt.Fatalf("%s, %s: %d bits flipped, the last in byte %d; the field is %d bytes at %d", text, field,
				flipped, at, n, off)
		}
		if roce.CheckICRC(after) {
			rt.Fatalf("%s, %s: byte %d changed and the ICRC is right", text, field, at)
		}
	})
}

// Regions of each field in a WRITE_FIRST of 1024 bytes.
func TestRegions(t *testing.T) {
	frame := encode(t, packets[0], nil)
	for _, tt := range []struct {
		field  fault.Field
		off, n int
	}{
		{fault.AnyField, 14, 20 + 8 + 12 + 16 + 1024 + 4}, {fault.IP, 14, 20}, {fault.UDP, 34, 8}, {fault.BTH, 42, 12},
		{fault.Opcode, 42, 1},
		{fault.DestQP, 47, 3}, {fault.PSN, 51, 3}, {fault.Ext, 54, 16}, {fault.Payload, 70, 1024},
		{fault.ICRC, 1094, 4},
	} {
		if off, n := region(frame, tt.field); off != tt.off || n != tt.n {
			t.Errorf("%s: %d bytes at %d, want %d at %d", tt.field, n, off, tt.n, tt.off)
		}
	}
}

// Rewriting a masked field sets it, keeps its neighbours and the ICRC, and updates the IPv4 checksum.
func TestRewrite(t *testing.T) {
	tests := []struct {
		field fault.Field
		value int
		get   func(*roce.Frame) int
	}{
		{fault.TTL, 3, func(f *roce.Frame) int { return int(f.TTL) }},
		{fault.TOS, 0xFF, func(f *roce.Frame) int { return int(f.TOS) }},
		{fault.DSCP, 0x2A, func(f *roce.Frame) int { return int(f.TOS >> 2) }},
		{fault.ECN, 1, func(f *roce.Frame) int { return int(f.TOS & 3) }},
		{fault.FECN, 1, func(f *roce.Frame) int { return bit(f.Packet.FECN) }},
		{fault.BECN, 1, func(f *roce.Frame) int { return bit(f.Packet.BECN) }},
		{fault.Resv8a, 0x3F, func(f *roce.Frame) int { return int(f.Packet.Resv6) }},
	}
	for _, tt := range tests {
		for _, edit := range []func(*roce.Frame){nil, v6} {
			for _, text := range packets[:8] {
				var before, after roce.Frame
				raw := encode(t, text, edit)
				if err := before.Decode(bytes.Clone(raw)); err != nil {
					t.Fatal(err)
				}
				Alter(raw, &channel.Verdict{Rewrite: tt.field, Value: tt.value})
				if err := after.Decode(raw); err != nil || tt.get(&after) != tt.value || !roce.CheckICRC(raw) ||
					edit == nil && !checksumOK(raw) {
					t.Errorf("%s of %s: %v, now %#x, want %#x; ICRC %v", tt.field, text, err, tt.get(&after), tt.value,
						roce.CheckICRC(raw))
				}
				if after.FlowLabel != before.FlowLabel || after.Packet.PSN != before.Packet.PSN ||
					after.Packet.DestQP != before.Packet.DestQP ||
					tt.field == fault.DSCP && after.TOS&3 != before.TOS&3 || tt.field == fault.ECN &&
					after.TOS>>2 != before.TOS>>2 {
					t.Errorf("%s of %s: a neighbour changed: %+v", tt.field, text, after)
				}
			}
		}
	}
}

func bit(v bool) int {
	if v {
		return 1
	}
	return 0
}

func TestUDPChecksumAndMark(t *testing.T) {
	frame := encode(t, packets[0], nil)
	Alter(frame, &channel.Verdict{Rewrite: fault.UDPSum, Value: 0xBEEF})
	if got := binary.BigEndian.Uint16(frame[40:]); got != 0xBEEF || !roce.CheckICRC(frame) {
		t.Errorf("UDP checksum %#x", got)
	}
	Alter(frame, &channel.Verdict{Mark: true})
	var f roce.Frame
	if err := f.Decode(frame); err != nil || f.TOS != 3 || !checksumOK(frame) || !roce.CheckICRC(frame) {
		t.Errorf("marked: %v, TOS %#x", err, f.TOS)
	}
}

// Alter leaves a frame alone that lacks the field or is not RoCEv2, or if the verdict has no change.
func TestAlterLeavesAlone(t *testing.T) {
	for _, tt := range []struct {
		frame []byte
		v     channel.Verdict
	}{
		{encode(t, "LOWAR qp=5 len=9", nil), channel.Verdict{Rewrite: fault.FECN, Value: 1}},
		{encode(t, packets[0], nil), channel.Verdict{Rewrite: fault.Flow, Value: 1}},
		{encode(t, packets[0], nil), channel.Verdict{}},
		{make([]byte, 60), channel.Verdict{Rewrite: fault.TTL, Value: 9, Mark: true}},
		{make([]byte, 14), channel.Verdict{Corrupt: fault.AnyField}},
		{nil, channel.Verdict{Corrupt: fault.BTH}},
	} {
		before := bytes.Clone(tt.frame)
		Alter(tt.frame, &tt.v)
		if !bytes.Equal(before, tt.frame) {
			t.Errorf("%+v changed\n%x to\n%x", tt.v, before, tt.frame)
		}
	}
}

// A malformed frame, and one of another protocol, is corrupted like any other: in one bit that no router changes.
func TestCorruptMalformed(t *testing.T) {
	badICRC := encode(t, packets[0], nil)
	badICRC[len(badICRC)-1] ^= 0xFF
	cut := encode(t, packets[0], nil)[:40]
	noIP := make([]byte, 60)
	for i, frame := range [][]byte{badICRC, cut, noIP, noIP[:15], noIP[:34]} {
		for draw := range uint64(64) {
			after := bytes.Clone(frame)
			Alter(after, &channel.Verdict{Fate: channel.Delivered, Corrupt: fault.AnyField, Draw: draw << 58})
			flipped := 0
			for i := range frame {
				flipped += bits.OnesCount8(frame[i] ^ after[i])
			}
			if flipped != 1 || roce.Fingerprint(after) == roce.Fingerprint(frame) {
				t.Fatalf("frame %d, draw %d: %d bits flipped", i, draw, flipped)
			}
		}
	}
}

// Alter does not panic for any decision of a channel and any frame.
func FuzzAlter(f *testing.F) {
	for i, text := range packets {
		f.Add(encode(f, text, nil), i, uint64(i)<<60)
	}
	datagram := roce.Frame{Packet: roce.Packet{Payload: []byte{0xC0, 0x11, roce.PortIWARP >> 8, roce.PortIWARP & 0xFF,
		0, 12, 0, 0, 1, 2, 3, 4}, Len: 12}}
	datagram.Packet.Opcode = roce.UDP
	f.Add(datagram.AppendTo(nil), 1, uint64(5)<<60)
	fields := append(fault.CorruptFields(), fault.RewriteFields()...)
	f.Fuzz(func(_ *testing.T, frame []byte, i int, draw uint64) {
		field := fields[uint(i)%uint(len(fields))]
		Alter(frame, &channel.Verdict{Corrupt: field, Draw: draw})
		Alter(frame, &channel.Verdict{Rewrite: field, Value: i, Mark: true})
	})
}
