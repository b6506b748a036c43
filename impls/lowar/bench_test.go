package lowar_test

import (
	"crypto/subtle"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/impls/gbn"
	"github.com/rdma-gauntlet/gauntlet/impls/gobackone"
	"github.com/rdma-gauntlet/gauntlet/impls/lowar"
)

// every loses every n-th packet.
func every(n int) func(int) bool { return func(i int) bool { return i%n == n-1 } }

func never(int) bool { return false }

// TestRecoveryAllocatesNothing recovers losses, and gives up blocks.
func TestRecoveryAllocatesNothing(t *testing.T) {
	for _, tt := range []struct {
		name   string
		impl   engine.Implementation
		params engine.Params
		lose   func(int) bool
		naks   bool
	}{
		{"repaired", lowar.Over(gbn.Implementation()), engine.Params{"r": "16", "c": "4"}, every(53), false},
		{"given up", lowar.Over(gbn.Implementation()), engine.Params{"r": "64", "c": "2"}, every(29), true},
		{"adaptive", lowar.Over(gbn.Implementation()), engine.Params{"r": "32", "adaptive": "true", "report": "64"},
			every(97), false},
		{"above Go-Back-ONE", lowar.Over(gobackone.Implementation()), engine.Params{"r": "64"}, every(29), false},
	} {
		w := newWire(t, tt.impl, tt.params, tt.lose)
		for range 300 {
			w.message(t)
		}
		if n := testing.AllocsPerRun(200, func() { w.message(t) }); n != 0 {
			t.Errorf("%s: %v allocations per message with loss, want none", tt.name, n)
		}
		if tt.naks != (w.naks > 0) {
			t.Errorf("%s: %d NAKs", tt.name, w.naks)
		}
	}
}

// BenchmarkMessage carries 160 packets from one engine to the other; the same without the shim is the first line.
func BenchmarkMessage(b *testing.B) {
	for _, c := range []struct {
		name   string
		impl   engine.Implementation
		params engine.Params
		lose   func(int) bool
	}{
		{"gbn", gbn.Implementation(), nil, never},
		{"lowar(32,1)", overGBN(), nil, never},
		{"lowar(64,8)", overGBN(), engine.Params{"r": "64", "c": "8"}, never},
		{"lowar(64,8) loss 2%", overGBN(), engine.Params{"r": "64", "c": "8"}, every(50)},
	} {
		b.Run(c.name, func(b *testing.B) {
			w := newWire(b, c.impl, c.params, c.lose)
			b.ReportAllocs()
			b.SetBytes(int64(write.Len))
			for b.Loop() {
				w.message(b)
			}
		})
	}
}

// BenchmarkUnit compares what coding one packet costs with copying it: the XOR alone, and with the check value. The
// units of an endpoint (1.1 MB) do not fit the first cache, so they are used in turn.
func BenchmarkUnit(b *testing.B) {
	const units, size = 1024, 1040
	from, to := make([]byte, size), make([]byte, units*size)
	for _, c := range []struct {
		name string
		do   func(unit []byte)
	}{
		{"copy", func(u []byte) { copy(u, from) }},
		{"xor", func(u []byte) { subtle.XORBytes(u, u, from) }},
		{"xor+check", func(u []byte) { subtle.XORBytes(u, u, from); sink += roce.RepairDigest(from) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(size)
			i := 0
			for b.Loop() {
				c.do(to[i*size : (i+1)*size])
				i = (i + 1) % units
			}
		})
	}
}

var sink uint32
