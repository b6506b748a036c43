package fragment

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// cut returns the fragments of a datagram that a layer sends.
func cut(l *Layer, data []byte) (list []roce.Packet) {
	p := roce.Packet{Payload: data, Len: len(data)}
	p.Opcode = roce.UDP
	for l.Send(&p, 3); ; l.Next(&p) {
		list = append(list, p)
		if !l.Pending() {
			return list
		}
	}
}

func noise(n int, seed uint64) []byte {
	b, r := make([]byte, n), rand.New(rand.NewPCG(seed, 1))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// All fragments of a datagram join to it, whatever their sizes, order and copies. Without one of them nothing is
// delivered.
func TestFragmentsJoin(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		link := rapid.IntRange(1, 190).Draw(rt, "link/8") * 8
		data := noise(rapid.IntRange(8, 65515).Draw(rt, "length"), 1)
		from, to := Layer{link: link}, Layer{}
		list := cut(&from, data)
		if want := max(1, (len(data)+link-1)/link); len(list) != want {
			rt.Fatalf("%d fragments, want %d", len(list), want)
		}
		missing := rapid.IntRange(-1, len(list)-1).Draw(rt, "missing")
		order := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "order"), 2)).Perm(len(list))
		joined := 0
		for _, i := range order {
			if i == missing {
				continue
			}
			whole, stale, ok := to.Receive(0, &list[i])
			if ok {
				joined++
				if !bytes.Equal(whole, data) {
					rt.Fatal("not the bytes that were sent")
				}
			} else if i == order[0] && len(list) > 1 {
				to.Receive(0, &list[i]) // a copy
			}
			if stale > 0 {
				rt.Fatalf("%d given up", stale)
			}
		}
		if (joined == 1) != (missing < 0) || joined > 1 {
			rt.Fatalf("%d datagrams, fragment %d of %d missing", joined, missing, len(list))
		}
	})
}

// The datagrams that wait for fragments are bounded by number and by time.
func TestJoinsAreBounded(t *testing.T) {
	from, to := Layer{link: 1480}, Layer{}
	stale := 0
	for range 1000 {
		_, n, _ := to.Receive(0, &cut(&from, noise(4000, 3))[0])
		stale += n
	}
	if len(to.joins) != joinLimit || stale != 1000-joinLimit {
		t.Errorf("%d in progress, %d given up", len(to.joins), stale)
	}
	last := cut(&from, noise(4000, 4))
	if _, n, _ := to.Receive(vtime.Time(joinTime), &last[0]); n != joinLimit || len(to.joins) != 1 {
		t.Errorf("%d given up for their time, %d in progress", n, len(to.joins))
	}
	from.next-- // the same number again, long after its datagram was given up
	again, now := cut(&from, noise(3000, 5)), vtime.Time(3*joinTime)
	for i := range again {
		if whole, _, ok := to.Receive(now, &again[i]); ok != (i == len(again)-1) || ok &&
			!bytes.Equal(whole, noise(3000, 5)) {
			t.Errorf("fragment %d: %v, %d bytes", i, ok, len(whole))
		}
	}
}

// Impossible fragments are dropped: one beyond the longest datagram, and one that is not the last and has a broken
// block.
func TestImpossibleFragments(t *testing.T) {
	for _, p := range []roce.Packet{
		{IP: roce.IP{Fragment: roce.NewFragment(65528, false)}, Payload: make([]byte, 1000)},
		{IP: roce.IP{Fragment: roce.NewFragment(0, true)}, Payload: make([]byte, 13)},
		{IP: roce.IP{Fragment: roce.NewFragment(8, true)}},
	} {
		var l Layer
		if _, _, ok := l.Receive(0, &p); ok {
			t.Errorf("%+v made a datagram", p.IP)
		}
	}
}

func TestFragmentsAllocateNothing(t *testing.T) {
	from, to := Layer{link: 1480}, Layer{}
	data, p := noise(20000, 6), roce.Packet{}
	if n := testing.AllocsPerRun(200, func() {
		p = roce.Packet{Payload: data, Len: len(data)}
		for from.Send(&p, 0); ; from.Next(&p) {
			if _, _, ok := to.Receive(0, &p); ok {
				return
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
