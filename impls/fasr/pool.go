package fasr

import "math/bits"

// maxUnits is the number of units that one byte can name, zero being null; maxBlocks is the capacity of available.
const (
	maxUnits     = 255
	maxBlocks    = 64 * 64
	maxBlockBits = 64
)

// available records which of up to 4096 units or blocks are free: "Initialized with all 0, indicating that all SR state
// units are available. When an SR state unit is assigned to a specific QP, the corresponding position in the bitmap is
// set to 1" (FaSR III-C1; III-C2 for blocks). full has a bit for each word of used without a zero, so that a free item
// is found with two instructions at any size.
type available struct {
	used  [64]uint64 // a bit per item, set while the item is taken
	full  uint64     // a bit per word of used, set while all bits of the word are set
	n     int        // number of items
	taken int        // items taken; 0 <= taken <= n
	high  int        // largest value of taken so far
}

// take takes the lowest free item and returns its index; ok is false if none is free.
func (a *available) take() (i int, ok bool) {
	if a.taken == a.n {
		return 0, false
	}
	w := bits.TrailingZeros64(^a.full)
	i = w<<6 + bits.TrailingZeros64(^a.used[w])
	a.used[w] |= 1 << (i & 63)
	if a.used[w] == ^uint64(0) {
		a.full |= 1 << w
	}
	a.taken++
	a.high = max(a.high, a.taken)
	return i, true
}

// give frees item i, which is taken.
func (a *available) give(i int) {
	a.used[i>>6] &^= 1 << (i & 63)
	a.full &^= 1 << (i >> 6)
	a.taken--
}

// left returns the number of free items.
func (a *available) left() int { return a.n - a.taken }

// pool is the two-level shared SR pool of one endpoint (FaSR III-C, Figure 5). A QP outside recovery uses none of it.
type pool struct {
	unitMap  available
	units    []stateUnit // level 1
	blockMap available
	blocks   []block // level 2
	perBlock int     // packets that a block records

	exhausted int64 // requests for a unit or for blocks that the pool could not satisfy
	steps     int64 // pointers to a next block that timeouts have followed
}

// stateUnit is an SR state unit: "a complete set of SR-required states and pairs of bitmap start and end pointer and
// lost-cnts" (FaSR III-C1).
type stateUnit struct {
	roles uint8 // bit r is set while role r is in recovery; the unit is freed when roles becomes zero
	state [roles]state
}

// role is a part of a QP that can be in recovery. The paper has five, as IRN has five bitmaps; IRN's receiver has two,
// because it places data out of order and must record where messages end. Here out-of-order packets wait in the reorder
// store, which keeps their headers, so that one bitmap suffices.
type role uint8

const (
	requestSender    role = iota // the requester sends requests
	requestReceiver              // the responder receives them
	responseSender               // the responder sends READ responses
	responseReceiver             // the requester receives them
	roles
)

// block is a bitmap block, "the smallest allocation unit for recording OoO packets", and its pointer to the next (FaSR
// III-C2). A set bit is a packet that arrived.
type block struct {
	arrived uint64
	next    uint16
}

func newPool(p Pool) *pool {
	return &pool{
		unitMap: available{n: p.Units}, units: make([]stateUnit, p.Units),
		blockMap: available{n: p.Blocks}, blocks: make([]block, p.Blocks), perBlock: p.BlockBits,
	}
}

// nic is the state that the two halves of a QP share: the host with the pool, and the QP's SR state pointer. "When
// there is no packet loss in the QP, this pointer is set to null" (FaSR III-C1).
type nic struct {
	host    *Host
	pointer uint8 // the unit's number plus one; 0 is null
}

// acquire returns the state of a role that enters recovery, and allocates a unit if the QP has none; nil if the pool is
// exhausted.
func (q *nic) acquire(r role) *state {
	p := q.host.pool
	if q.pointer == 0 {
		i, ok := p.unitMap.take()
		if !ok {
			p.exhausted++
			return nil
		}
		q.pointer = uint8(i + 1)
	}
	u := &p.units[q.pointer-1]
	u.roles |= 1 << r
	u.state[r] = state{}
	return &u.state[r]
}

// release ends the recovery of a role. "When QP exits the loss-recovery state, the corresponding position in the SR
// states bitmap is set to 0, and can be used by other QPs" (FaSR III-C1).
func (q *nic) release(r role) {
	p := q.host.pool
	u := &p.units[q.pointer-1]
	u.state[r].arrived.release(p)
	if u.roles &^= 1 << r; u.roles == 0 {
		p.unitMap.give(int(q.pointer - 1))
		q.pointer = 0
	}
}
