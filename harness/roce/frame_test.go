package roce

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestFrameRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := frames().Draw(t, "frame")
		b := want.AppendTo([]byte("before"))[6:]
		want.Packet = canonical(want.Packet)
		var got Frame
		if err := got.Decode(b); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpAddr); diff != "" {
			t.Fatalf("decoded (-want +got):\n%s", diff)
		}
		if !got.ICRCOK(b) || !CheckICRC(b) {
			t.Fatal("ICRC wrong")
		}
		if len(b) != got.Len() || !bytes.Equal(got.AppendTo(nil), b) {
			t.Fatal("encoded again differs")
		}
	})
}

// TestICRCDefinition computes the ICRC as the annex defines it, from a masked copy.
func TestICRCDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := frames().Draw(t, "frame")
		b := f.AppendTo(nil)
		b = append(bytes.Repeat([]byte{0xFF}, 8), b[f.l3():len(b)-4]...)
		ones := []int{1, 8, 10, 11, 26, 27}
		bth := 28
		if f.isIPv6() {
			ones, bth = []int{1, 2, 3, 7, 46, 47}, 48
			b[8] |= 0x0F
		}
		if f.Packet.Opcode != LoWAR {
			ones = append(ones, bth+4)
		}
		for _, i := range ones {
			b[8+i] = 0xFF
		}
		if got, ok := ICRC(f.AppendTo(nil)); !ok || got != crc32.ChecksumIEEE(b) {
			t.Fatalf("ICRC %#x, want %#x", got, crc32.ChecksumIEEE(b))
		}
	})
}

// internetSum is the sum of RFC 1071, computed word by word; over a correct header it is 0xFFFF.
func internetSum(b []byte) uint16 {
	var sum uint32
	for i, x := range b {
		sum += uint32(x) << (8 * (1 - i&1))
		sum = sum>>16 + sum&0xFFFF
	}
	return uint16(sum)
}

func TestChecksums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := frames().Draw(t, "frame")
		b := f.AppendTo(nil)
		ip := b[f.l3():]
		udp := ip[f.l4()-f.l3():]
		if !f.isIPv6() {
			if internetSum(ip[:20]) != 0xFFFF || udp[6]|udp[7] != 0 {
				t.Fatalf("IPv4 checksum %x, UDP checksum %x", ip[10:12], udp[6:8])
			}
			return
		}
		pseudo := slices.Concat(ip[8:40], []byte{0, 0, udp[4], udp[5], 0, 0, 0, 17}, udp)
		if internetSum(pseudo) != 0xFFFF || udp[6]|udp[7] == 0 {
			t.Fatalf("UDP checksum %x", udp[6:8])
		}
	})
}

func TestWireLen(t *testing.T) {
	for _, tt := range []struct {
		op   Opcode
		n    int
		v6   bool
		want int
	}{
		{WriteMiddle, 1024, false, 1106},
		{WriteOnly, 1024, false, 1122},
		{WriteMiddle, 4096, false, 4178},
		{WriteOnly, 4096, false, 4194},
		{WriteMiddle, 1024, true, 1126},
		{SendOnly, 1, false, 8 + 14 + 20 + 8 + 12 + 4 + 4 + 4 + 12},
		{Acknowledge, 0, false, 86},
		{SendOnly, 0, false, 84}, // 62 bytes, padded to the shortest Ethernet frame
		{ReadRequest, 4096, false, 98},
	} {
		p := Packet{BTH: BTH{Opcode: tt.op}, Len: tt.n}
		if got := p.WireLen(tt.v6); got != tt.want {
			t.Errorf("%v of %d bytes, IPv6 %v: %d, want %d", tt.op, tt.n, tt.v6, got, tt.want)
		}
		f := Frame{Packet: p, HasVLAN: true}
		if tt.v6 {
			overIPv6(&f)
		}
		if got := f.WireLen(); tt.want > 84 && got != tt.want+4 {
			t.Errorf("%v with a VLAN tag: %d, want %d", tt.op, got, tt.want+4)
		}
	}
}

// TestNilPayload: a packet without payload bytes is encoded with zeros, also into a buffer with old content.
func TestNilPayload(t *testing.T) {
	f := writeFrame(101)
	buf := f.AppendTo(nil)
	f.Packet.Payload = nil
	buf = f.AppendTo(buf[:0])
	f.Packet.Payload = make([]byte, 101)
	if want := f.AppendTo(nil); !bytes.Equal(buf, want) {
		t.Errorf("got %x\nwant %x", buf, want)
	}
}

// TestOddFrames: the encoder accepts any frame.
func TestOddFrames(t *testing.T) {
	var f Frame
	if got := f.AppendTo(nil); len(got) != f.Len() || !CheckICRC(got) {
		t.Errorf("zero frame: %x", got)
	}
	f.Packet = Packet{BTH: BTH{Opcode: WriteOnly}, Len: -5}
	if f.Len() != 14+20+8+28+4 {
		t.Errorf("negative length: frame of %d", f.Len())
	}
	f.Packet.Len = 1 << 40
	b := f.AppendTo(nil)
	if err := f.Decode(b); err != nil || f.Packet.Len != MaxPayload {
		t.Errorf("oversized: len %d, %v", f.Packet.Len, err)
	}
	f = Frame{Src: netip.MustParseAddr("::ffff:10.0.0.1"), Packet: Packet{BTH: BTH{Opcode: SendOnly}}}
	if b := f.AppendTo(nil); b[12] != 0x86 || !CheckICRC(b) {
		t.Errorf("IPv4-mapped source: %x", b)
	}
}

func TestWrongPadding(t *testing.T) {
	p := Packet{BTH: BTH{Opcode: WriteMiddle, Pad: 2}, Len: 5}
	b := p.AppendTransport(nil)
	if len(b) != 12+5+2 || b[1]>>4&3 != 2 {
		t.Errorf("encoded %x", b)
	}
	err := p.DecodeTransport(b)
	if fe := new(FieldError); !errors.As(err, &fe) || fe.Field != "pad" || !errors.Is(err, ErrMalformed) {
		t.Errorf("err = %v", err)
	}
}

func TestEthernetPaddingTolerated(t *testing.T) {
	f := writeFrame(0)
	b := f.AppendTo(nil)
	padded := append(slices.Clone(b), make([]byte, 60-len(b))...)
	var got Frame
	if err := got.Decode(padded); err != nil || !got.ICRCOK(padded) {
		t.Fatalf("Decode: %v, ICRC %v", err, got.ICRCOK(padded))
	}
	if diff := cmp.Diff(canonical(f.Packet), got.Packet); diff != "" {
		t.Error(diff)
	}
}

// TestDecodeErrors changes a good frame in one place each.
func TestDecodeErrors(t *testing.T) {
	put16 := func(off int, v uint16) func([]byte) []byte {
		return func(b []byte) []byte { binary.BigEndian.PutUint16(b[off:], v); return b }
	}
	put8 := func(off int, v byte) func([]byte) []byte {
		return func(b []byte) []byte { b[off] = v; return b }
	}
	for _, tt := range []struct {
		field  string
		reason error
		v6     bool
		damage func([]byte) []byte
	}{
		{"ethernet", ErrTruncated, false, func(b []byte) []byte { return b[:13] }},
		{"vlan", ErrTruncated, false, func(b []byte) []byte { return put16(12, 0x8100)(b)[:17] }},
		{"ethertype", ErrNotRoCE, false, put16(12, 0x0806)},
		{"ip", ErrTruncated, false, func(b []byte) []byte { return b[:33] }},
		{"ip version", ErrMalformed, false, put8(14, 0x65)},
		{"ip header length", ErrMalformed, false, put8(14, 0x46)},
		{"ip protocol", ErrNotRoCE, false, put8(23, 6)},
		{"ip length", ErrLength, false, put16(16, 2000)},
		{"ip length", ErrLength, false, put16(16, 19)},
		{"ip fragment", ErrMalformed, false, put16(20, 0x2000)},
		{"ip fragment", ErrMalformed, false, put16(20, 1)},
		{"udp", ErrTruncated, false, put16(16, 27)},
		{"udp destination port", ErrNotRoCE, false, put16(36, 53)},
		{"udp length", ErrLength, false, put16(38, 40)},
		{"opcode", ErrUnknownOpcode, false, put8(42, 0x15)},
		{"pad", ErrMalformed, false, put8(43, 0x30)},
		{"ip", ErrTruncated, true, func(b []byte) []byte { return b[:53] }},
		{"ip version", ErrMalformed, true, put8(14, 0x45)},
		{"ip protocol", ErrNotRoCE, true, put8(20, 58)},
		{"ip length", ErrLength, true, put16(18, 2000)},
		{"udp", ErrTruncated, true, put16(18, 7)},
	} {
		f := writeFrame(0)
		if tt.v6 {
			overIPv6(f)
		}
		b := tt.damage(f.AppendTo(nil))
		var got Frame
		err := got.Decode(b)
		if fe := new(FieldError); !errors.As(err, &fe) || fe.Field != tt.field || !errors.Is(err, tt.reason) {
			t.Errorf("%s: err = %v, want %v", tt.field, err, tt.reason)
		}
	}
}

func TestUnknownOpcodeFillsBTH(t *testing.T) {
	f := writeFrame(64)
	f.Packet.Opcode = 0x15
	want := f.Packet.BTH
	var got Frame
	err := got.Decode(f.AppendTo(nil))
	if !errors.Is(err, ErrUnknownOpcode) || got.Packet.BTH != want {
		t.Errorf("err %v, BTH %+v, want %+v", err, got.Packet.BTH, want)
	}
}

func TestFieldErrorText(t *testing.T) {
	var p Packet
	err := p.DecodeTransport([]byte{byte(WriteOnly)})
	if want := "roce: bth: truncated: got 1, want 12"; err == nil || err.Error() != want {
		t.Errorf("err = %v, want %s", err, want)
	}
}

func TestUnexpectedPayload(t *testing.T) {
	b := (&Packet{BTH: BTH{Opcode: Acknowledge}}).AppendTransport(nil)
	var p Packet
	err := p.DecodeTransport(append(b, 0, 0, 0, 0))
	if fe := new(FieldError); !errors.As(err, &fe) || fe.Field != "payload" {
		t.Errorf("err = %v", err)
	}
}

// TestTruncation cuts a packet of every type at every byte: once as it is, when the IP length shows the cut, and once
// with adjusted lengths, when only the headers can show it.
func TestTruncation(t *testing.T) {
	for _, op := range knownOpcodes() {
		f := writeFrame(0)
		f.Packet = randomPacket(op, 8, uint64(op))
		f.Packet.Repair.Type = RepairData
		whole := f.AppendTo(nil)
		for n := range whole {
			wantFieldError(t, op, whole[:n])
			if n >= 14+20+8 {
				wantTruncatedHeader(t, &f.Packet, shorten(whole, n))
			}
		}
	}
}

// shorten cuts a frame to n bytes and adjusts the IP and UDP lengths.
func shorten(frame []byte, n int) []byte {
	b := slices.Clone(frame[:n])
	binary.BigEndian.PutUint16(b[16:], uint16(n-14))
	binary.BigEndian.PutUint16(b[38:], uint16(n-34))
	return b
}

func wantFieldError(t *testing.T, op Opcode, b []byte) {
	t.Helper()
	var f Frame
	err := f.Decode(b)
	if fe := new(FieldError); !errors.As(err, &fe) || fe.Field == "" {
		t.Errorf("%v cut to %d bytes: err = %v", op, len(b), err)
	}
}

// wantTruncatedHeader checks that the error names the first header that ends beyond the bytes. A cut in the payload is
// a shorter payload, which shows only in an odd size or in the ICRC.
func wantTruncatedHeader(t *testing.T, p *Packet, b []byte) {
	t.Helper()
	op, layout := p.Opcode, p.Layout()
	var f Frame
	err := f.Decode(b)
	have := len(b) - 42
	if have >= layout.Len()+icrcLen {
		wrong := have%4 != 0
		if op == LoWAR {
			wrong = true // its header has the length of the payload
		}
		if wrong != (err != nil) {
			t.Errorf("%v with %d bytes: err = %v", op, have, err)
		}
		if err == nil && f.ICRCOK(b) {
			t.Errorf("%v with %d bytes: ICRC passes", op, have)
		}
		return
	}
	want := "icrc"
	for i, h := range headers {
		end := (layout & (1<<(i+1) - 1)).Len()
		if layout>>i&1 != 0 && have < end {
			want = h.name
			break
		}
	}
	if have == 0 && op == LoWAR {
		want = "bth" // no byte shows yet that it has no BTH
	}
	if fe := new(FieldError); !errors.As(err, &fe) || fe.Field != want || !errors.Is(err, ErrTruncated) {
		t.Errorf("%v with %d bytes: err = %v, want %s truncated", op, have, err, want)
	}
}

func TestPayloadAliases(t *testing.T) {
	b := writeFrame(64).AppendTo(nil)
	var f Frame
	if err := f.Decode(b); err != nil {
		t.Fatal(err)
	}
	b[54] ^= 0xFF
	if f.Packet.Payload[0] != b[54] {
		t.Error("payload was copied")
	}
	if cap(f.Packet.Payload) != 64 {
		t.Errorf("payload reaches %d bytes into the frame, want 64", cap(f.Packet.Payload))
	}
}

// TestICRCCoverage flips every bit of a frame: the ICRC detects all except those that may change on the way.
func TestICRCCoverage(t *testing.T) {
	for _, f := range []*Frame{writeFrame(16), overIPv6(writeFrame(16))} {
		b := f.AppendTo(nil)
		free := map[int]bool{15: true, 22: true, 24: true, 25: true, 40: true, 41: true, 46: true}
		if f.isIPv6() {
			free = map[int]bool{15: true, 16: true, 17: true, 21: true, 60: true, 61: true, 66: true}
		}
		for i := ethLen; i < len(b); i++ {
			for bit := range 8 {
				b[i] ^= 1 << bit
				ok := CheckICRC(b)
				b[i] ^= 1 << bit
				half := f.isIPv6() && i == ethLen && bit < 4 // upper half of the traffic class
				if want := free[i] || half; ok != want {
					t.Errorf("IPv6 %v byte %d bit %d: ICRC ok = %v, want %v", f.isIPv6(), i, bit, ok, want)
				}
			}
		}
	}
}

func TestNoAllocations(t *testing.T) {
	for _, f := range []*Frame{writeFrame(1024), overIPv6(writeFrame(1024))} {
		buf := f.AppendTo(nil)
		var got Frame
		var ok bool
		for name, run := range map[string]func(){
			"encode": func() { buf = f.AppendTo(buf[:0]) },
			"decode": func() { ok = got.Decode(buf) == nil },
			"check":  func() { ok = CheckICRC(buf) && got.ICRCOK(buf) },
			"wire":   func() { ok = f.WireLen() > 0 },
			"reseal": func() { ok = Reseal(buf) },
			"text":   func() { buf = got.Packet.AppendText(buf, TextOptions{Relative: true})[:len(buf)] },
		} {
			if n := testing.AllocsPerRun(100, run); n != 0 || !ok && name != "encode" && name != "text" {
				t.Errorf("%s: %v allocations, ok %v", name, n, ok)
			}
		}
	}
}

// TestSums: the payload CRC is that of the bytes, and a wrong ICRC is reported as wrong.
func TestSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := frames().Draw(t, "frame")
		n := rapid.SampledFrom(append([]int{0, 3, 250, 1023}, PathMTUs[:]...)).Draw(t, "payload")
		want.Packet = randomPacket(want.Packet.Opcode, n, rapid.Uint64().Draw(t, "bytes"))
		b := want.AppendTo(nil)
		var f Frame
		if err := f.Decode(b); err != nil {
			t.Fatal(err)
		}
		sum, right := f.Sums(b)
		if plain := payloadSum(f.Packet.Payload); !right || sum != plain {
			t.Fatalf("CRC %#x, want %#x; ICRC right: %v", sum, plain, right)
		}
		if whole, summed := want.AppendSummed(nil); !bytes.Equal(whole, b) || summed != sum || !f.ICRCOver(b, sum) {
			t.Fatalf("summed: CRC %#x, want %#x, of\n%x\nwant\n%x", summed, sum, whole, b)
		}
		b[rapid.IntRange(len(b)-icrcLen, len(b)-1).Draw(t, "at")] ^= 1
		if _, right := f.Sums(b); right || f.ICRCOver(b, sum) {
			t.Fatal("a wrong ICRC is taken for a right one")
		}
	})
}

// TestFrameAddresses: the addresses read without a decoder are those of the decoder.
func TestFrameAddresses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := frames().Draw(t, "frame")
		b := f.AppendTo(nil)
		var got Frame
		if got.Decode(b) != nil {
			t.Fatal("does not decode")
		}
		src, ok := Source(b)
		if port, also := DestinationPort(b); !ok || !also || src != got.Src || port != got.DstPort {
			t.Fatalf("%v %v %d %v, want %v %d", src, ok, port, also, got.Src, got.DstPort)
		}
	})
}
