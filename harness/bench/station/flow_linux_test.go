package station

import (
	"encoding/binary"
	"slices"
	"testing"
)

// nested returns a netlink attribute.
func nested(kind uint16, value []byte) []byte {
	b := binary.NativeEndian.AppendUint16(nil, uint16(4+len(value)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = append(b, value...)
	return append(b, make([]byte, (4-len(b)%4)%4)...)
}

// parsePFC finds the mask behind the other attributes of a driver, and returns nil for a truncated answer.
func TestParsePFC(t *testing.T) {
	head := []byte{0, dcbIEEEGet, 0, 0}
	table := append(nested(1, make([]byte, 5)), nested(dcbPFC, []byte{8, 0x08, 0})...)
	whole := slices.Concat(head, nested(dcbIfName, []byte("ens1\x00")), nested(dcbIEEE|0x8000, table))
	if got := parsePFC(whole); got == nil || *got != 8 {
		t.Errorf("%v, want priority 3", got)
	}
	for n := range whole[:len(whole)-4] {
		if got := parsePFC(whole[:n:n]); got != nil {
			t.Errorf("the first %d bytes tell %d", n, *got)
		}
	}
	if got := parsePFC(slices.Concat(head, nested(dcbIEEE, nil))); got != nil {
		t.Errorf("none tells %d", *got)
	}
}
