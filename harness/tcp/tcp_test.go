package tcp

import (
	"bytes"
	"encoding/hex"
	"errors"
	"testing"
)

func TestSeqOrderWraps(t *testing.T) {
	for _, start := range []Seq{0, 1<<31 - 2, 0xFFFFFFFE} {
		a, b := start, start.Add(5)
		if !a.Less(b) || b.Less(a) || b.Sub(a) != 5 || a.Sub(b) != -5 || !a.AtMost(a) || b.AtMost(a) {
			t.Errorf("order of %d and %d is wrong", a, b)
		}
		if !a.In(a, b) || b.In(a, b) || Later(a, b) != b || Later(b, a) != b || b.Add(-5) != a {
			t.Errorf("range of %d and %d is wrong", a, b)
		}
	}
}

func TestHeaderRoundTrip(t *testing.T) {
	for _, h := range []Header{
		{SrcPort: 49152, DstPort: 4791, Seq: 0xFFFFFFFF, Ack: 7, Flags: ACK | PSH, Window: 512},
		{SrcPort: 1, DstPort: 2, Seq: 3, Flags: SYN, Window: 65535, MSS: 1460, Scale: 7, HasScale: true},
		{SrcPort: 1, DstPort: 2, Seq: 3, Ack: 9, Flags: SYN | ACK, Window: 1, MSS: 536},
		{Flags: FIN | ACK}, {Flags: RST},
	} {
		b := make([]byte, h.Len(), h.Len()+3)
		h.Put(b)
		got, data, err := Decode(append(b, 1, 2, 3))
		if err != nil || got != h || !bytes.Equal(data, []byte{1, 2, 3}) {
			t.Errorf("%+v comes back as %+v with %v, %v", h, got, data, err)
		}
	}
}

func TestDecodeRejects(t *testing.T) {
	h := Header{Flags: SYN, MSS: 1460, HasScale: true}
	b := make([]byte, h.Len())
	h.Put(b)
	for n := range b {
		if _, _, err := Decode(b[:n]); !errors.Is(err, ErrMalformed) {
			t.Errorf("%d of %d bytes decode: %v", n, len(b), err)
		}
	}
	b[12] = 4 << 4
	if _, _, err := Decode(b); !errors.Is(err, ErrMalformed) {
		t.Errorf("a header of 16 bytes decodes: %v", err)
	}
}

// TestForeignOptions parses the SYN of a Linux kernel: MSS, SACK permitted, timestamps, no-operation, window scale.
func TestForeignOptions(t *testing.T) {
	b, err := hex.DecodeString(
		"c00012b700000000" + "00000000a002faf000000000" + "020405b40402080a0000000000000000" + "01030307")
	if err != nil {
		t.Fatal(err)
	}
	h, data, err := Decode(b)
	if err != nil || h.MSS != 1460 || !h.HasScale || h.Scale != 7 || len(data) != 0 || h.Flags != SYN {
		t.Errorf("read as %+v with %d bytes, %v", h, len(data), err)
	}
}

func TestNames(t *testing.T) {
	if got := (SYN | ACK).String(); got != "SYN,ACK" {
		t.Errorf("%q", got)
	}
	if got := Flags(0).String(); got != "none" {
		t.Errorf("%q", got)
	}
	h := Header{Flags: SYN | FIN}
	if h.Span(3) != 5 {
		t.Errorf("span %d, want 5", h.Span(3))
	}
}

func FuzzDecode(f *testing.F) {
	h := Header{Flags: SYN, MSS: 1460, Scale: 3, HasScale: true}
	b := make([]byte, h.Len())
	h.Put(b)
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		h, data, err := Decode(b)
		if err != nil {
			return
		}
		again := make([]byte, h.Len())
		h.Put(again)
		h2, _, err := Decode(again)
		if h2.MSS != h.MSS && h.Flags.Has(SYN) && h.MSS != 0 || h2.Seq != h.Seq || h2.Flags != h.Flags || err != nil {
			t.Errorf("%+v comes back as %+v, %v", h, h2, err)
		}
		if len(data) > len(b)-HeaderLen {
			t.Errorf("%d bytes of data in %d", len(data), len(b))
		}
	})
}
