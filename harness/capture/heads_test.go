package capture

import (
	"bytes"
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// framed returns a frame of a SEND with a payload of n bytes to a QP, and its headers.
func framed(t *testing.T, n int, qp uint32) (Frame, roce.Frame) {
	t.Helper()
	h := roce.Frame{Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.0.0.2"), SrcPort: 50000, TTL: 64}
	h.Packet.BTH = roce.BTH{Opcode: roce.SendOnly, DestQP: qp, PKey: roce.DefaultPKey}
	h.Packet.Payload, h.Packet.Len = bytes.Repeat([]byte{0xA5}, n), n
	raw := append(h.AppendTo(nil), 1, 2, 3) // three bytes of Ethernet padding
	if err := h.Decode(raw); err != nil {
		t.Fatal(err)
	}
	f := Frame{Wall: time.Unix(1_700_000_000, int64(n)).UTC(), Raw: raw, Kept: len(raw), Way: Outward}
	if !f.Check(&h) {
		t.Fatal("the ICRC is wrong")
	}
	return f, h
}

// Frames that were kept are read as they were, but for long payloads of sound frames, which are zeros.
func TestHeads(t *testing.T) {
	end := errors.New("the end")
	var k Heads
	var want []Frame
	add := func(f Frame, h roce.Frame, absent int) {
		k.Add(&f, &h)
		f.Raw = slices.Clone(f.Raw)
		if absent > 0 {
			clear(f.Raw[h.HeadLen() : h.HeadLen()+absent])
		}
		want = append(want, f)
	}
	for range 300 { // more than a chunk
		for _, n := range []int{4096, 0, 1023, shortPayload, shortPayload + 1} {
			f, h := framed(t, n, 17)
			absent := n
			if n <= shortPayload {
				absent = 0
			}
			add(f, h, absent)
			f.Sound, f.AnotherPort = false, true
			add(f, h, 0)
			f.Kept = 50
			clear(f.Raw[50:])
			add(f, h, 0)
		}
		f, h := framed(t, 256, roce.CMQueuePair)
		add(f, h, 0)
	}
	for range 2 {
		s := k.Source(end)
		for i, w := range want {
			var f Frame
			if err := s.Next(&f); err != nil || !bytes.Equal(f.Raw, w.Raw) {
				t.Fatalf("frame %d: %v, %x, want %x", i, err, f.Raw, w.Raw)
			}
			if f.Raw = w.Raw; !same(&f, &w) {
				t.Fatalf("frame %d: %+v, want %+v", i, f, w)
			}
		}
		if err := s.Next(&Frame{}); !errors.Is(err, end) {
			t.Errorf("behind the last frame: %v", err)
		}
	}
	if got, sums := k.Sums(), len(want); len(got) >= sums || got[0] != want[0].Sum {
		t.Errorf("%d sums of %d frames, the first %08x", len(got), sums, got[0])
	}
}

// same compares all but the bytes of two frames.
func same(a, b *Frame) bool {
	return a.Wall.Equal(b.Wall) && a.Kept == b.Kept && a.Way == b.Way && a.Sound == b.Sound && a.Sum == b.Sum &&
		a.AnotherPort == b.AnotherPort
}

// A frame that is kept or read again allocates nothing but chunks.
func TestHeadsAllocateNothing(t *testing.T) {
	var k Heads
	f, h := framed(t, 1024, 17)
	if n := testing.AllocsPerRun(1<<15, func() { k.Add(&f, &h) }); n != 0 {
		t.Errorf("%v allocations per frame kept", n)
	}
	s := k.Source(nil)
	if n := testing.AllocsPerRun(1<<14, func() { _ = s.Next(&f) }); n != 0 {
		t.Errorf("%v allocations per frame read", n)
	}
}
