package memory

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
)

// twoRegions returns a host with a region of bytes at 0x1000 and a virtual one that ends at the top of the address
// space.
func twoRegions(t testing.TB) *Host {
	t.Helper()
	h := new(Host)
	for _, r := range []Region{
		{RKey: 1, PD: 7, Base: 0x1000, Len: 64, Access: engine.RemoteWrite, Bytes: make([]byte, 64)},
		{RKey: 2, PD: 7, Base: math.MaxUint64 - 1023, Len: 1024, Access: engine.AllAccess},
	} {
		if err := h.Register(r); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func TestRegisterRejects(t *testing.T) {
	for _, tc := range []struct {
		r    Region
		want string
	}{
		{Region{RKey: 1, Base: 0x9000, Len: 8}, "taken"},
		{Region{RKey: 3, Base: 0x9000}, "empty or wraps"},
		{Region{RKey: 3, Base: math.MaxUint64, Len: 2}, "empty or wraps"},
		{Region{RKey: 3, Base: 0x9000, Len: 8, Bytes: make([]byte, 7)}, "7 bytes given"},
		{Region{RKey: 3, Base: 0x103F, Len: 8}, "overlaps"},
		{Region{RKey: 3, Base: 0xFFF, Len: 2}, "overlaps"},
		{Region{RKey: 3, Base: 0x1001, Len: 1}, "overlaps"},
		{Region{RKey: 3, Base: 0x0, Len: math.MaxUint64}, "overlaps"},
	} {
		err := twoRegions(t).Register(tc.r)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("Register(%+v) = %v, want an error with %q", tc.r, err, tc.want)
		}
	}
	for _, r := range []Region{{RKey: 3, Base: 0xFFF, Len: 1}, {RKey: 4, Base: 0x1040, Len: 1}} {
		if err := twoRegions(t).Register(r); err != nil {
			t.Errorf("neighbour rejected: %v", err)
		}
	}
}

func TestPermit(t *testing.T) {
	top := uint64(math.MaxUint64)
	for _, tc := range []struct {
		name     string
		pd, rkey uint32
		va       uint64
		n        uint32
		want     engine.Access
		ok       bool
	}{
		{"whole", 7, 1, 0x1000, 64, engine.RemoteWrite, true},
		{"last byte", 7, 1, 0x103F, 1, engine.RemoteWrite, true},
		{"one too many", 7, 1, 0x103F, 2, engine.RemoteWrite, false},
		{"before", 7, 1, 0xFFF, 1, engine.RemoteWrite, false},
		{"other domain", 8, 1, 0x1000, 1, engine.RemoteWrite, false},
		{"right missing", 7, 1, 0x1000, 1, engine.RemoteRead, false},
		{"one right of two missing", 7, 1, 0x1000, 1, engine.RemoteRead | engine.RemoteWrite, false},
		{"unknown key", 7, 9, 0x1000, 1, engine.RemoteWrite, false},
		{"zero length, any key", 7, 9, 0x1000, 0, engine.RemoteWrite, true},
		{"up to the top", 7, 2, top - 9, 10, engine.RemoteRead, true},
		{"wraps", 7, 2, top - 9, 11, engine.RemoteRead, false},
		{"wraps far", 7, 2, top, math.MaxUint32, engine.RemoteRead, false},
	} {
		if got := twoRegions(t).Permit(tc.pd, tc.rkey, tc.va, tc.n, tc.want); got != tc.ok {
			t.Errorf("%s: Permit = %v, want %v", tc.name, got, tc.ok)
		}
	}
}

func TestLoadStore(t *testing.T) {
	h := twoRegions(t)
	var seen int
	h.Watch = func(_ uint64, _ []byte, n int) { seen += n }
	if !h.Store(0x1004, []byte("abcd"), 4) || string(h.Load(0x1004, 4)) != "abcd" {
		t.Error("stored bytes do not come back")
	}
	if !h.Store(0x1004, nil, 4) || string(h.Load(0x1004, 4)) != "abcd" {
		t.Error("a length without bytes changed bytes")
	}
	if !h.Store(math.MaxUint64-7, []byte("12345678"), 8) || h.Load(math.MaxUint64-7, 8) != nil {
		t.Error("virtual memory does not swallow")
	}
	for _, tc := range []struct {
		va   uint64
		data []byte
		n    int
	}{{0xFFF, []byte{1}, 1}, {0x103F, []byte{1, 2}, 2}, {0x1000, []byte{1}, 2}, {0x1000, nil, -1},
		{math.MaxUint64, nil, 2}} {
		if h.Store(tc.va, tc.data, tc.n) {
			t.Errorf("Store(%#x, %v, %d) accepted", tc.va, tc.data, tc.n)
		}
	}
	if seen != 16 {
		t.Errorf("Watch saw %d bytes, want 16", seen)
	}
	if cap(h.Load(0x1000, 4)) != 4 {
		t.Error("a loaded slice can be grown over its neighbours")
	}
}

// Bytes written to a region with shared bytes are visible there and in no other region, and bytes loaded before do not
// change.
func TestShared(t *testing.T) {
	row := []byte("0123456789abcdef")
	var h Host
	for i, va := range []uint64{0x1000, 0x2000, 0x3000} {
		if err := h.Register(
			Region{RKey: uint32(i) + 1, Base: va, Len: 8, Bytes: row[i : i+8], Shared: true}); err != nil {
			t.Fatal(err)
		}
	}
	before := h.Load(0x1000, 8)
	if !h.Store(0x1002, []byte("XY"), 2) {
		t.Fatal("Store refused")
	}
	h.Edit(0x2000, 1)[0] = 'Z'
	for va, want := range map[uint64]string{0x1000: "01XY4567", 0x2000: "Z2345678", 0x3000: "23456789"} {
		if got := string(h.Load(va, 8)); got != want {
			t.Errorf("at %#x: %q, want %q", va, got, want)
		}
	}
	if string(before) != "01234567" || string(row) != "0123456789abcdef" {
		t.Errorf("shared bytes changed: %q, %q", before, row)
	}
	if h.Edit(0x4000, 1) != nil {
		t.Error("Edit returns what is not registered")
	}
}

func TestInvalidate(t *testing.T) {
	h := twoRegions(t)
	if !h.Invalidate(1) || h.Invalidate(1) || h.Invalidate(9) {
		t.Error("Invalidate does not report liveness")
	}
	if h.Permit(7, 1, 0x1000, 1, engine.RemoteWrite) || h.Load(0x1000, 1) == nil {
		t.Error("want the key dead and the bytes alive")
	}
}

func TestPatternAndHash(t *testing.T) {
	h := twoRegions(t)
	if !h.Fill(0x1000, 30, 5) || !h.Fill(0x1020, 30, 5) || h.Fill(0x2000, 1, 5) {
		t.Error("Fill does not report registration")
	}
	if !bytes.Equal(h.Load(0x1000, 30), h.Load(0x1020, 30)) {
		t.Error("one seed, two patterns")
	}
	a, ok := h.Hash(0x1000, 30)
	b, _ := h.Hash(0x1020, 30)
	h.Fill(0x1020, 30, 6)
	c, _ := h.Hash(0x1020, 30)
	if !ok || a != b || a == c {
		t.Errorf("hashes %x %x %x: want the first two equal and the third not", a, b, c)
	}
	if _, ok := h.Hash(math.MaxUint64, 1); ok {
		t.Error("virtual memory has a hash")
	}
}

func TestAccessAllocatesNothing(t *testing.T) {
	h, data := twoRegions(t), make([]byte, 16)
	if n := testing.AllocsPerRun(100, func() {
		h.Store(0x1000, data, 16)
		h.Load(0x1010, 16)
		h.Permit(7, 1, 0x1000, 16, engine.RemoteWrite)
		h.Load(math.MaxUint64-15, 16)
	}); n != 0 {
		t.Errorf("%v allocations per access, want 0", n)
	}
}

func BenchmarkLoad(b *testing.B) {
	h := twoRegions(b)
	for b.Loop() {
		h.Load(0x1010, 16)
	}
}
