package mpa

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
)

// modes are the combinations of markers and CRC.
var modes = []struct {
	name         string
	markers, crc bool
}{{"plain", false, false}, {"crc", false, true}, {"markers", true, false}, {"markers and crc", true, true}}

// ulpdu returns n bytes that differ with n and salt.
func ulpdu(n, salt int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8 + salt)
	}
	return b
}

// edges are lengths around the limits: padding, distance of markers, longest ULPDU.
var edges = []int{0, 1, 2, 3, 4, 5, 17, 18, 498, 499, 500, 501, 502, 503, 504, 505, 506, 507, 508, 509,
	510, 1014, 1015, 1444,
	MaxMarked - 1, MaxMarked}

// stream returns FPDUs of all lengths in sequence.
func stream(f *Framer, lens []int) []byte {
	var b []byte
	for i, n := range lens {
		whole := ulpdu(n, i)
		cut := min(n, 18)
		b = f.Append(b, whole[:cut], whole[cut:])
	}
	return b
}

// read feeds a stream in pieces of the sizes that next returns, and compares the ULPDUs.
func read(t *testing.T, d *Deframer, b []byte, lens []int, next func() int) {
	t.Helper()
	got := 0
	for len(b) > 0 {
		n := min(len(b), max(1, next()))
		piece := b[:n]
		b = b[n:]
		for len(piece) > 0 {
			f, rest, err := d.Next(piece)
			if err != nil {
				t.Fatalf("FPDU %d: %v", got, err)
			}
			piece = rest
			if f == nil {
				break
			}
			if got == len(lens) || !bytes.Equal(f.ULPDU, ulpdu(lens[got], got)) ||
				!bytes.Equal(f.Pad, make([]byte, Pad(lens[got]))) {
				t.Fatalf("FPDU %d is not what was sent: %d bytes", got, len(f.ULPDU))
			}
			got++
		}
	}
	if got != len(lens) {
		t.Errorf("%d FPDUs, want %d", got, len(lens))
	}
}

func TestRoundTripInPiecesOfAnySize(t *testing.T) {
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			b := stream(&Framer{Markers: m.markers, CRC: m.crc}, edges)
			r := rand.New(rand.NewPCG(1, 2))
			for name, next := range map[string]func() int{
				"bytes": func() int { return 1 }, "three": func() int { return 3 }, "segments": func() int {
					return 1460
				},
				"whole": func() int { return len(b) }, "random": func() int { return r.IntN(2000) },
			} {
				t.Run(name, func(t *testing.T) {
					read(t, &Deframer{Markers: m.markers, CRC: m.crc}, b, edges, next)
				})
			}
		})
	}
}

// TestLengths checks the frame against RFC 5044, 4: length field, ULPDU and padding are a multiple of four bytes.
func TestLengths(t *testing.T) {
	for n := range 2000 {
		f := Framer{CRC: true}
		b := f.Append(nil, nil, ulpdu(n, 0))
		if want := LengthLen + n + Pad(n) + CRCLen; len(b) != want || len(b)%4 != 0 || Pad(n) > 3 {
			t.Fatalf("ULPDU of %d bytes: FPDU of %d, want %d and a multiple of 4", n, len(b), want)
		}
	}
}

// TestMarkersStandEvery512 checks that markers are at multiples of 512 and that each points to a length field.
func TestMarkersStandEvery512(t *testing.T) {
	lens := []int{700, 3, 502, 502, 498, 2000, 0, 0, MaxMarked}
	f := Framer{Markers: true, CRC: true}
	var starts []int // of length fields
	var b []byte
	for i, n := range lens {
		at := len(b)
		if at%MarkerEvery == 0 {
			at += MarkerLen
		}
		starts = append(starts, at)
		b = f.Append(b, nil, ulpdu(n, i))
	}
	for at := 0; at < len(b); at += MarkerEvery {
		back := int(b[at+2])<<8 | int(b[at+3])
		want := 0
		for _, s := range starts {
			if s < at {
				want = at - s
			}
			if s == at+MarkerLen {
				want = 0
			}
		}
		if b[at] != 0 || b[at+1] != 0 || back != want {
			t.Errorf("marker at %d is % x, want a pointer of %d", at, b[at:at+4], want)
		}
	}
}

// TestMarkerOverhead: exactly four bytes of every 512 on the stream are markers, 0.78125 %.
func TestMarkerOverhead(t *testing.T) {
	with, without := Framer{Markers: true}, Framer{}
	var a, b int
	buf := make([]byte, 0, 4096)
	for range 508 * 128 { // N FPDUs of a multiple of 508 bytes together
		a += len(with.Append(buf, nil, ulpdu(1000, 0)))
		b += len(without.Append(buf, nil, ulpdu(1000, 0)))
	}
	if markers := a - b; markers*MarkerEvery != a*MarkerLen {
		t.Errorf("%d bytes of markers in %d, want 4 of every 512", markers, a)
	}
}

// TestLimitFitsOneSegment tries every position in the stream at which an FPDU can begin.
func TestLimitFitsOneSegment(t *testing.T) {
	for _, emss := range []int{536, 1220, 1447, 1448, 1459, 1460, 8960} {
		for _, markers := range []bool{false, true} {
			longest := 0
			for pos := uint64(0); pos < MarkerEvery; pos += 4 {
				f := Framer{Markers: markers, pos: pos}
				n := f.Limit(emss)
				longest = max(longest, len(f.Append(nil, nil, make([]byte, n))))
			}
			if longest > emss || longest < emss-8 {
				t.Errorf("emss %d markers %v: the longest FPDU has %d bytes", emss, markers, longest)
			}
		}
	}
	if a, b := (&Framer{}).Limit(1<<20), (&Framer{Markers: true}).Limit(1<<20); a != MaxULPDU || b != MaxMarked {
		t.Errorf("limits %d and %d, want %d and %d", a, b, MaxULPDU, MaxMarked)
	}
}

// TestEveryFlippedBitIsSeen corrupts each byte after the length field: CRC and markers detect every change.
func TestEveryFlippedBitIsSeen(t *testing.T) {
	for _, markers := range []bool{false, true} {
		f := Framer{Markers: markers, CRC: true}
		b := f.Append(nil, nil, ulpdu(1200, 0))
		for i := range b {
			if at := i - 4; !markers && i < 2 || markers && (at == 0 || at == 1 || i < 2) {
				continue // another length is another FPDU, which may be incomplete
			}
			b[i] ^= 0x40
			d := Deframer{Markers: markers, CRC: true}
			_, _, err := d.Next(b)
			if !errors.Is(err, ErrCRC) && !errors.Is(err, ErrMarker) {
				t.Errorf("markers %v: a flipped bit in byte %d gives %v", markers, i, err)
			}
			if _, _, again := d.Next(nil); !errors.Is(again, err) {
				t.Errorf("the error does not stay: %v", again)
			}
			b[i] ^= 0x40
		}
	}
}

func TestCRCOffIgnoresTheField(t *testing.T) {
	b := (&Framer{}).Append(nil, nil, ulpdu(10, 0))
	f, _, err := (&Deframer{}).Next(b)
	if err != nil || f.CRCOK || f.CRCSum != 0 {
		t.Errorf("%+v, %v: want a field of zero that is not judged", f, err)
	}
}

func TestSetupRoundTrip(t *testing.T) {
	for _, s := range []Setup{
		{Revision: 1}, {Reply: true, Markers: true, CRC: true, Revision: 1}, {Reply: true, Reject: true, Revision: 1},
		{CRC: true, Revision: 1, Private: []byte("hello")}, {Reply: true, Revision: Enhanced, Private: make([]byte, 4)},
		{Revision: 1, Private: make([]byte, MaxPrivate)},
	} {
		b := s.Append(nil)
		for n := range b {
			if _, got, err := DecodeSetup(b[:n]); got != 0 || err != nil {
				t.Errorf("%d of %d bytes give a frame of %d, %v", n, len(b), got, err)
			}
		}
		got, n, err := DecodeSetup(append(b, 1, 2, 3))
		if err != nil || n != len(b) || !bytes.Equal(got.Private, s.Private) {
			t.Fatalf("%+v comes back as %+v, %d bytes, %v", s, got, n, err)
		}
		got.Private, s.Private = nil, nil
		if got.Reply != s.Reply || got.Markers != s.Markers || got.CRC != s.CRC || got.Reject != s.Reject {
			t.Errorf("%+v comes back as %+v", s, got)
		}
	}
	long := Setup{Revision: 1, Private: make([]byte, 2*MaxPrivate)}
	if b := long.Append(nil); len(b) != setupLen+MaxPrivate {
		t.Errorf("private data is not cut: %d bytes", len(b))
	}
}

func TestSetupRejects(t *testing.T) {
	whole := func(change func([]byte)) []byte {
		b := (&Setup{Revision: 1}).Append(nil)
		change(b)
		return b
	}
	for name, b := range map[string][]byte{
		"http":         []byte("GET / HTTP/1.1"),
		"wrong key":    whole(func(b []byte) { b[15] ^= 1 }),
		"revision":     whole(func(b []byte) { b[17] = 3 }),
		"private data": whole(func(b []byte) { b[18] = 3 }),
	} {
		if _, _, err := DecodeSetup(b); !errors.Is(err, ErrSetup) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFramingAllocatesNothing(t *testing.T) {
	f, d := Framer{Markers: true, CRC: true}, Deframer{Markers: true, CRC: true}
	buf, data := make([]byte, 0, 2048), ulpdu(1400, 0)
	once := func() {
		b := f.Append(buf, data[:18], data[18:])
		if got, rest, err := d.Next(b); got == nil || len(rest) != 0 || err != nil {
			t.Error("an FPDU is lost")
		}
	}
	once()
	if n := testing.AllocsPerRun(100, once); n != 0 {
		t.Errorf("%v allocations per FPDU, want none", n)
	}
}

// FuzzDeframer: any bytes in any pieces do not panic, and give the same result as in one piece.
func FuzzDeframer(f *testing.F) {
	f.Add(stream(&Framer{Markers: true, CRC: true}, []int{3, 600, 0}), 7, true)
	f.Add(stream(&Framer{CRC: true}, []int{3, 600, 0}), 1, false)
	f.Fuzz(func(t *testing.T, b []byte, piece int, markers bool) {
		collect := func(size int) (out []byte, err error) {
			d := Deframer{Markers: markers, CRC: true}
			for left := b; len(left) > 0 && err == nil; {
				n := min(len(left), max(1, size))
				rest := left[:n]
				left = left[n:]
				for len(rest) > 0 && err == nil {
					var got *FPDU
					if got, rest, err = d.Next(rest); got != nil {
						out = append(append(out, byte(len(got.ULPDU)>>8), byte(len(got.ULPDU))), got.ULPDU...)
					}
				}
			}
			return out, err
		}
		whole, errWhole := collect(len(b))
		parts, errParts := collect(piece)
		if !bytes.Equal(whole, parts) || !errors.Is(errWhole, errParts) {
			t.Errorf("in pieces of %d: %v, in one: %v", piece, errParts, errWhole)
		}
	})
}

// FuzzSetup: no bytes panic, and a decoded frame encodes to the same frame except for the reserved bits.
func FuzzSetup(f *testing.F) {
	f.Add((&Setup{Revision: 1, Markers: true, Private: []byte("x")}).Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, n, err := DecodeSetup(b)
		if err != nil || n == 0 {
			return
		}
		again := s.Append(nil)
		again[keyLen] |= b[keyLen] & 0x1F
		if !bytes.Equal(again, b[:n]) {
			t.Errorf("% x comes back as % x", b[:n], again)
		}
	})
}
