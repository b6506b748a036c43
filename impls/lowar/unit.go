package lowar

import (
	"crypto/subtle"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// unit is a coding unit: "each of which storing one such intermediate value. These coding units are essentially the
// precursor of repair packets or recovered packets, with their size matching the maximum potential length of RoCE
// transport packets" (IV-B2). sum[:n] is the XOR of the packets added; bytes from n on are not meaningful and count as
// zero.
type unit struct {
	sum   []byte
	n     int    // length of the longest packet added, in bytes
	check uint32 // sum of the digests of the packets added: see roce.Repair
}

// add is "e_j <- e_j XOR d_i" (Alg. 1, line 3). A packet longer than n extends the sum, since x XOR 0 is x.
func (u *unit) add(packet []byte) {
	both := min(u.n, len(packet))
	subtle.XORBytes(u.sum, u.sum[:both], packet)
	copy(u.sum[both:], packet[both:])
	u.n = max(u.n, len(packet))
	u.check += roce.RepairDigest(packet)
}

// unitSize returns the bytes of a unit: a packet with the longest headers that a coded packet has (BTH, RETH and
// immediate), in whole cache lines.
func unitSize(mtu int) int {
	const headers, line = 12 + 16 + 4, 64
	return (headers + mtu + line - 1) / line * line
}

// units is the Encoding Buffer or the Decoding Buffer of an endpoint: a pool of coding units "based on a FIFO queue ….
// In the allocation stage, free units are dequeued and binded to connections. In the release stage, they are
// re-enqueued into the queue with binds dissolved" (Appendix). Other than in the paper ("In the initialization stage,
// all coding units are valid"), a unit is allocated when the queue is empty, so that units that are never needed take
// no memory.
type units struct {
	all  []unit           // units allocated so far; len(all) <= most
	free ring.Ring[int32] // indices of unbound units
	most int              // capacity in units
	high int              // largest number of units bound at once
}

func newUnits(n int) *units { return &units{most: n} }

// used returns the number of units bound to connections.
func (p *units) used() int { return len(p.all) - p.free.Len() }

// bind appends n empty units of size bytes to list; it reports false, and binds none, if fewer are free.
func (p *units) bind(list []int32, n, size int) ([]int32, bool) {
	if p.used()+n > p.most {
		return list, false
	}
	for range n {
		i, _ := p.bindOne(size)
		list = append(list, i)
	}
	return list, true
}

// bindOne binds an empty unit of size bytes; ok is false if none is free.
func (p *units) bindOne(size int) (i int32, ok bool) {
	if i, ok = p.free.Pop(); !ok {
		if len(p.all) == p.most {
			return none, false
		}
		i = int32(len(p.all))
		p.all = append(p.all, unit{})
	}
	u := &p.all[i]
	u.n, u.check = 0, 0
	if len(u.sum) < size {
		u.sum = make([]byte, size)
	}
	p.high = max(p.high, p.used())
	return i, true
}

// release frees units. Their sums stay readable until they are bound again.
func (p *units) release(list []int32) {
	for _, i := range list {
		p.free.Push(i)
	}
}
