package lowar

import (
	"crypto/subtle"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// unit is a coding unit: "each of which storing one such intermediate value. These coding units are essentially the
// precursor of repair packets or recovered packets, with their size matching the maximum potential length of RoCE
// transport packets" (IV-B2). sum[:n] is the XOR of what was added; behind it all would be zero.
type unit struct {
	sum   []byte
	n     int
	check uint32 // of the packets that were added: see roce.Repair
}

// add is "e_j <- e_j XOR d_i" (Alg. 1, line 3). What is longer than the sum lengthens it, since x XOR 0 is x.
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
// re-enqueued into the queue with binds dissolved" (Appendix). In place of "In the initialization stage, all coding
// units are valid", a unit is made when the queue is empty for the first time, so that what is never needed takes no
// memory.
type units struct {
	all  []unit // those that were made
	free ring.Ring[int32]
	most int // how many there may be
	high int // the most that were bound at once
}

func newUnits(n int) *units { return &units{most: n} }

// used returns how many units are bound to connections.
func (p *units) used() int { return len(p.all) - p.free.Len() }

// bind appends n empty units of so many bytes to list, or reports that there are not so many.
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

// bindOne binds an empty unit of so many bytes, or reports that there is none.
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

// release gives units back. What they hold stays readable until they are bound again.
func (p *units) release(list []int32) {
	for _, i := range list {
		p.free.Push(i)
	}
}
