package gobackone

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"pgregory.net/rapid"
)

func packetAt(p psn.PSN, b ...byte) *roce.Packet {
	return &roce.Packet{BTH: roce.BTH{Opcode: roce.SendMiddle, PSN: p}, Payload: b, Len: len(b)}
}

func TestReorderKeepsPackets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		expected := rapid.SampledFrom(starts).Draw(t, "start")
		r := reorder{bytes: payloads{size: 256}}
		kept := map[psn.PSN]byte{}
		var out roce.Packet
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			if ahead := rapid.IntRange(-3, 300).Draw(t, "ahead"); ahead > 0 {
				p, b := expected.Add(ahead), byte(ahead)
				_, known := kept[p]
				if r.put(packetAt(p, b), ahead) == known {
					t.Fatalf("put of +%d: kept already is %v", ahead, known)
				}
				if !known {
					kept[p] = b
				}
				continue
			}
			b, known := kept[expected]
			if ok := r.take(expected, &out); ok != known || ok && (out.PSN != expected || out.Payload[0] != b) {
				t.Fatalf("take gives %v %v, want %v %d", ok, out.Payload, known, b)
			}
			delete(kept, expected)
			expected = expected.Next()
		}
		if r.n != len(kept) {
			t.Fatalf("%d kept, want %d", r.n, len(kept))
		}
	})
}

func TestReorderOddities(t *testing.T) {
	r := reorder{bytes: payloads{size: 256}}
	var out roce.Packet
	r.put(&roce.Packet{BTH: roce.BTH{PSN: 1}, Len: 300}, 1)
	r.put(&roce.Packet{BTH: roce.BTH{PSN: 2}, Len: 9, Payload: []byte{1}}, 2)
	r.put(&roce.Packet{BTH: roce.BTH{PSN: 3}, Len: -7}, 3)
	for p := psn.PSN(1); p < 4; p++ {
		if !r.take(p, &out) || out.Len != -1 || out.Payload != nil {
			t.Errorf("+%d comes out with %d bytes, want a length that is refused", p, out.Len)
		}
	}
	for p := range 50 {
		r.put(packetAt(psn.PSN(p+1), 1), p+1)
	}
	r.drop(1, 40)
	if r.n != 11 || len(r.bytes.chunks) != 1 {
		t.Errorf("%d kept in %d chunks after the drop, want 11 in 1", r.n, len(r.bytes.chunks))
	}
	r.drop(0, psn.Half-1) // bounded, however far ahead
	if r.n != 0 {
		t.Errorf("%d kept, want none", r.n)
	}
}
