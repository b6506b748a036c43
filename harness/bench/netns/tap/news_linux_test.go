package tap

import (
	"net/netip"
	"testing"

	"pgregory.net/rapid"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// frameOf returns a frame for a QP, over IPv4 or IPv6.
func frameOf(qp uint32, number psn.PSN, host netip.Addr) []byte {
	f := roce.Frame{Src: host, Dst: host, TTL: 64, DstPort: roce.Port,
		Packet: roce.Packet{BTH: roce.BTH{Opcode: roce.Acknowledge, DestQP: qp, PSN: number}}}
	return f.AppendTo(nil)
}

// However often and in whatever order the packets of a window are sent, they are news once at most, and the last of
// them is: going back is no progress, also where PSNs wrap, and QPs do not disturb each other.
func TestRepetitionsAreNoNews(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var n news
		start := psn.New(rapid.Uint32Range(0, psn.Mask).Draw(t, "start"))
		count := rapid.Uint32Range(1, 50).Draw(t, "count")
		host := rapid.SampledFrom([]netip.Addr{netip.MustParseAddr("10.77.0.1"), netip.MustParseAddr("fe80::1")}).
			Draw(t, "host")
		fresh := map[uint32]uint32{}
		hear := func(qp, i uint32) {
			if n.hear(frameOf(qp, start.Add(int(i)), host)) {
				fresh[qp]++
			}
		}
		for _, i := range rapid.SliceOfN(rapid.Uint32Range(0, count-1), 1, 500).Draw(t, "order") {
			hear(16+i%2, i)
			n.hear(frameOf(managed, start.Add(int(i)), host))
		}
		hear(16, count)
		hear(16, count)
		if fresh[16] == 0 || fresh[16]+fresh[17] > count+1 {
			t.Fatalf("%v of %d packets are news", fresh, count+1)
		}
		before := fresh[16]
		for i := range count + 1 {
			hear(16, i)
		}
		if fresh[16] != before {
			t.Fatalf("%d repetitions are news", fresh[16]-before)
		}
		if n.hear(frameOf(managed, start.Add(int(count)), host)) || n.hear(nil) || n.hear(make([]byte, 100)) {
			t.Fatal("a message of connection management, or a frame of another kind, is news")
		}
	})
}
