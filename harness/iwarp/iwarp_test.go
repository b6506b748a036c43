package iwarp

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
)

// golden are segments with their bytes, derived by hand from the figures of RFC 5040 and 5041, and of this package for
// Write-Record.
var golden = []struct{ text, header string }{
	{"SEND msn=1 mo=0 len=3 L", "4143 00000000 00000000 00000001 00000000"},
	{"SEND msn=7 mo=65000 len=0", "0143 00000000 00000000 00000007 0000fde8"},
	{"SEND_INV msn=2 mo=0 stag=0xabcd len=1 L", "4144 0000abcd 00000000 00000002 00000000"},
	{"WRITE stag=0x1000 to=0x200000000010 len=8 L", "c140 00001000 0000200000000010"},
	{"READ_RESP stag=0x7 len=1", "8142 00000007 0000000000000000"},
	{"READ_REQ msn=1 mo=0 len=28 L", "4141 00000000 00000001 00000001 00000000"},
	{"TERMINATE msn=1 mo=0 len=4 L", "4147 00000000 00000002 00000001 00000000"},
	{"WREC msg=5 off=65000 mlen=65004 stag=0x1000 to=0x10 len=4 L",
		"c14c 00001000 0000000000000010 00000005 0000fdec 0000fde8 00000000"},
	{"WREC msg=0 off=0 mlen=9 flags=0x30004 len=4",
		"814c 00000000 0000000000000000 00000000 00000009 00000000 00030004"},
	{"SEND msn=0 mo=0 qn=3 resv=0x2010 ddp=2 rdmap=0 len=0", "2213 00000000 00000003 00000000 00000000"},
	{"OP_0xd TAGGED len=0", "814d 00000000 0000000000000000"},
	{"WRITE UNTAGGED msn=1 mo=0 len=0", "0140 00000000 00000000 00000001 00000000"},
}

func TestGolden(t *testing.T) {
	for _, tt := range golden {
		want, err := hex.DecodeString(strings.ReplaceAll(tt.header, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		s, err := Parse(tt.text)
		if err != nil {
			t.Error(err)
			continue
		}
		if got := s.AppendHeader(nil); !bytes.Equal(got, want) {
			t.Errorf("%s\nis   %x\nwant %x", tt.text, got, want)
		}
		var back Segment
		if err := back.Decode(s.Append(nil)); err != nil || back.String() != tt.text {
			t.Errorf("%s reads back as %s, %v", tt.text, &back, err)
		}
		for n := range s.HeaderLen() {
			if back.Decode(want[:n]) == nil {
				t.Errorf("%s: %d of its bytes pass for a segment", tt.text, n)
			}
		}
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "empty",
		"FOO len=1":               "unknown opcode FOO",
		"SEND to=1":               "SEND has no to",
		"WREC msn=1":              "WREC has no msn",
		"WRITE msg=1":             "WRITE has no msg",
		"SEND msn=99999999999":    "msn=99999999999: want a number of 32 bits",
		"SEND len=65508":          "want at most 65507",
		"SEND colour=red":         "unknown word colour=red",
		"WREC msg=1 len=-1":       "len=-1",
		"WREC msg=1 ddp=4 len=16": "ddp=4",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// CRC returns the CRC-32C that RFC 3720 gives for 32 zeros, and the customary check value of "123456789".
func TestCRC(t *testing.T) {
	if got := CRC(make([]byte, 32)); got != 0x8A9136AA {
		t.Errorf("32 zeros: %#x", got)
	}
	if got := CRC([]byte("123456789")); got != 0xE3069283 {
		t.Errorf("123456789: %#x", got)
	}
}

func TestDatagram(t *testing.T) {
	s, err := Parse("WREC msg=5 off=0 mlen=5 stag=0x1000 to=0x10 len=5 L")
	if err != nil {
		t.Fatal(err)
	}
	copy(s.Payload, "hello")
	b := AppendDatagram(nil, PortOf(0x17), Port, &s)
	if want := UDPLen + TaggedLen + RecordLen + 5 + CRCLen; len(b) != want {
		t.Fatalf("%d bytes, want %d", len(b), want)
	}
	var d Datagram
	if err := d.Decode(b); err != nil || d.Src != 0xC017 || d.Dst != Port || string(d.Segment.Payload) != "hello" {
		t.Errorf("reads back as %+v, %v", d, err)
	}
	for i := range b[UDPLen:] {
		damaged := bytes.Clone(b)
		damaged[UDPLen+i] ^= 0x10
		if err := d.Decode(damaged); !errors.Is(err, ErrCRC) {
			t.Errorf("byte %d changed: %v", i, err)
		}
	}
	for n := range b {
		if d.Decode(b[:n]) == nil {
			t.Errorf("%d of its bytes pass for a datagram", n)
		}
	}
}

func TestBodies(t *testing.T) {
	r := ReadBody{0x11, 0x2222222222, 0x33, 0x44, 0x5555555555}
	b := r.Append(nil)
	if want := "00000011000000222222222200000033000000440000005555555555"; hex.EncodeToString(b) != want {
		t.Errorf("READ request %x, want %s", b, want)
	}
	var back ReadBody
	if err := back.Decode(b); err != nil || back != r {
		t.Errorf("reads back as %+v, %v", back, err)
	}
	if back.Decode(b[:27]) == nil {
		t.Error("27 bytes pass for a READ request")
	}
	m := TerminateBody{Layer: LayerDDP, Type: 1, Code: 0, Bits: TerminateM | TerminateD, Length: 14,
		Headers: []byte{0xC1, 0x40}}
	b = m.Append(nil)
	if want := "1100c000000ec140"; hex.EncodeToString(b) != want {
		t.Errorf("Terminate %x, want %s", b, want)
	}
	var term TerminateBody
	if err := term.Decode(b); err != nil || term.Layer != LayerDDP || term.Type != 1 || term.Length != 14 ||
		len(term.Headers) != 2 {
		t.Errorf("reads back as %+v, %v", term, err)
	}
	for _, short := range [][]byte{b[:3], b[:5]} {
		if term.Decode(short) == nil {
			t.Errorf("%x passes for a Terminate", short)
		}
	}
}

func TestPorts(t *testing.T) {
	if PortOf(0x12345) != 0xE345 {
		t.Errorf("%#x", PortOf(0x12345))
	}
	if p, senders := PeerPort(0xC001, Port); p != 0xC001 || !senders {
		t.Error("of a datagram")
	}
	if p, senders := PeerPort(Port, 0xC001); p != 0xC001 || senders {
		t.Error("of an answer")
	}
}

func TestAllocations(t *testing.T) {
	s, _ := Parse("SEND msn=1 mo=0 len=1024 L")
	b := AppendDatagram(nil, 1, 2, &s)
	var d Datagram
	if n := testing.AllocsPerRun(100, func() {
		b = AppendDatagram(b[:0], 1, 2, &s)
		if d.Decode(b) != nil {
			t.Fatal("does not decode")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A decoded segment encodes to the same bytes, its text parses, and nothing panics.
func FuzzSegment(f *testing.F) {
	for _, tt := range golden {
		s, _ := Parse(tt.text)
		f.Add(s.Append(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var s Segment
		if s.Decode(b) != nil {
			return
		}
		if again := s.Append(nil); !bytes.Equal(again, b) {
			t.Fatalf("%x encodes as %x", b, again)
		}
		if back, err := Parse(s.String()); len(s.Payload) <= MaxDatagram &&
			(err != nil || back.String() != s.String()) {
			t.Fatalf("%s parses as %s, %v", &s, &back, err)
		}
		var d Datagram
		_ = d.Decode(b)
		var r ReadBody
		_ = r.Decode(b)
		var m TerminateBody
		_ = m.Decode(b)
	})
}
