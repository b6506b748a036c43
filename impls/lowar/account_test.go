package lowar

import "testing"

// TestTableI compares the accounting with the memory of the prototype (Table I): state 0.3 MB, encoding and decoding
// 1.1 MB each, reordering 2.4 MB. These values are rounded, and the hardware keeps further fields.
func TestTableI(t *testing.T) {
	const MB = 1e6
	m := Account(1024, 512, 64, 8, 1024, 2048)
	for _, tt := range []struct {
		name        string
		got         int
		least, most float64
	}{
		{"state table", m.State, 0.1 * MB, 0.3 * MB},
		{"encoding buffer", m.Encoding, 1.09 * MB, 1.13 * MB},
		{"decoding buffer", m.Decoding, 1.09 * MB, 1.13 * MB},
		{"reordering buffer", m.Reordering, 2.2 * MB, 2.4 * MB},
	} {
		t.Logf("%s: %.3f MB", tt.name, float64(tt.got)/MB)
		if float64(tt.got) < tt.least || float64(tt.got) > tt.most {
			t.Errorf("%s: %d bytes, want %.2f to %.2f MB", tt.name, tt.got, tt.least/MB, tt.most/MB)
		}
	}
	if m.Encoding != 1024*1088 {
		t.Errorf("encoding buffer: %d bytes, want 1024 units of 1088", m.Encoding)
	}
}

// TestBuffersAreBounded: the buffers of an endpoint never take more than the account gives.
func TestBuffersAreBounded(t *testing.T) {
	p := newUnits(4)
	var mine []int32
	for i := range 6 {
		got, ok := p.bind(mine, 1, unitSize(1024))
		if mine = got; ok != (i < 4) {
			t.Fatalf("unit %d: bound %v", i, ok)
		}
	}
	if p.used() != 4 || p.high != 4 || len(p.all[mine[0]].sum) != 1088 {
		t.Errorf("%d units in use, %d at most, of %d bytes", p.used(), p.high, len(p.all[mine[0]].sum))
	}
	// First released, first bound again.
	p.release([]int32{mine[2]})
	p.release([]int32{mine[0]})
	if again, _ := p.bind(nil, 2, 1); again[0] != mine[2] || again[1] != mine[0] {
		t.Errorf("units %v come back as %v: not in the order of their release", mine, again)
	}
	if rest, ok := p.bind(nil, 1, 1); ok {
		t.Errorf("unit %v is bound twice", rest)
	}
}
