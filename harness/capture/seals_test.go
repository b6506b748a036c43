package capture

import (
	"io"
	"net/netip"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// frames is a source of these frames.
type frames [][]byte

// Next implements Source.
func (l *frames) Next(f *Frame) error {
	if len(*l) == 0 {
		return io.EOF
	}
	*f = Frame{Raw: (*l)[0], Kept: len((*l)[0])}
	*l = (*l)[1:]
	return nil
}

// TestSealsAreOfTheirFrames: a frame that was read before is read as if it had not been, and so is another one in its
// place, a damaged one, and one beyond those that were read.
func TestSealsAreOfTheirFrames(t *testing.T) {
	var all [][]byte
	for i := range 2*sealChunk + 3 {
		f := roce.Frame{Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.0.0.2"), TTL: 64}
		f.Packet = roce.Packet{BTH: roce.BTH{Opcode: roce.SendMiddle, DestQP: 16, PSN: psn.New(uint32(i))}}
		f.Packet.Payload = make([]byte, []int{256, 40}[i%2])
		f.Packet.Payload[0], f.Packet.Len = byte(i), len(f.Packet.Payload)
		all = append(all, f.AppendTo(nil))
	}
	all[5][70] ^= 1 // in the payload
	read := func(src Source) (list []trace.Record) {
		var f Frame
		for src.Next(&f) == nil {
			var r trace.Record
			f.Fill(&r, new(roce.Frame))
			list = append(list, r)
		}
		return list
	}
	var seals Seals
	for _, raw := range all[:len(all)-1] {
		var h roce.Frame
		if err := h.Decode(raw); err != nil {
			t.Fatal(err)
		}
		sum, sound := h.Sums(raw)
		seals.Add(h.Seal(raw), sum, sound)
	}
	for name, from := range map[string]int{"the same": 0, "others": 1} {
		src, again := frames(all[from:]), frames(all[from:])
		want, got := read(&src), read(&Sound{Source: &again, Seals: &seals})
		bad := 0
		for i := range want {
			if want[i].Sum != got[i].Sum || want[i].ICRC != got[i].ICRC || want[i].Defect != got[i].Defect {
				t.Errorf("%s, frame %d: sum %#x ICRC %v, want %#x and %v", name, i, got[i].Sum, got[i].ICRC, want[i].Sum,
					want[i].ICRC)
			}
			if got[i].ICRC == trace.Bad {
				bad++
			}
		}
		if len(got) != len(all)-from || bad != 1 {
			t.Errorf("%s: %d frames, %d of them damaged; want %d and 1", name, len(got), bad, len(all)-from)
		}
	}
}
