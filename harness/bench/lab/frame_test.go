package lab

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestFramesRoundTrip(t *testing.T) {
	var wire bytes.Buffer
	long := strings.Repeat("x", 2*maxPayload+1)
	must(t, writeFrame(&wire, hello, nil))
	if n, err := io.WriteString(framer{&wire, stdout}, long); n != len(long) || err != nil {
		t.Fatal(n, err)
	}
	var got strings.Builder
	var kinds []byte
	for {
		k, payload, err := readFrame(&wire)
		if errors.Is(err, io.EOF) {
			break
		}
		must(t, err)
		kinds = append(kinds, byte(k))
		got.Write(payload)
	}
	if string(kinds) != "hooo" || got.String() != long {
		t.Errorf("kinds %s, %d bytes", kinds, got.Len())
	}
}

// A flip of any bit of a frame is detected, and a stream that ends within a frame is an error.
func TestDamagedFrames(t *testing.T) {
	var wire bytes.Buffer
	must(t, writeFrame(&wire, stderr, []byte("abc")))
	whole := wire.Bytes()
	for bit := range len(whole) * 8 {
		b := bytes.Clone(whole)
		b[bit/8] ^= 1 << (bit % 8)
		if _, _, err := readFrame(bytes.NewReader(b)); err == nil {
			t.Errorf("bit %d flipped: no error", bit)
		}
	}
	for n := 1; n < len(whole); n++ {
		if _, _, err := readFrame(bytes.NewReader(whole[:n])); err == nil || errors.Is(err, io.EOF) && !errors.Is(err,
			io.ErrUnexpectedEOF) && n > headBytes {
			t.Errorf("%d bytes of %d: %v", n, len(whole), err)
		}
	}
}
