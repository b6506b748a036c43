package tap

import (
	"encoding/binary"
	"testing"

	"pgregory.net/rapid"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// frameOf returns the header of a frame for a QP.
func frameOf(qp, psn uint32) []byte {
	f := make([]byte, atPSN+4)
	binary.BigEndian.PutUint16(f[atPort:], roce.Port)
	binary.BigEndian.PutUint32(f[atDestQP:], qp)
	binary.BigEndian.PutUint32(f[atPSN:], 0x8000_0000|psn&0xFFFFFF)
	return f
}

// However often and in whatever order the packets of a window are sent, they are news once at most, and the last of
// them is: going back is no progress, also where PSNs wrap, and QPs do not disturb each other.
func TestRepetitionsAreNoNews(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var n news
		start := rapid.Uint32Range(0, 1<<24-1).Draw(t, "start")
		count := rapid.Uint32Range(1, 50).Draw(t, "count")
		fresh := map[uint32]uint32{}
		hear := func(qp, i uint32) {
			if n.hear(frameOf(qp, start+i)) {
				fresh[qp]++
			}
		}
		for _, i := range rapid.SliceOfN(rapid.Uint32Range(0, count-1), 1, 500).Draw(t, "order") {
			hear(16+i%2, i)
			n.hear(frameOf(managed, i))
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
		if n.hear(frameOf(managed, count)) || n.hear(nil) || n.hear(make([]byte, 100)) {
			t.Fatal("a message of connection management, or a frame of another kind, is news")
		}
	})
}
