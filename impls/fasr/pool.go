package fasr

import "math/bits"

// maxUnits is how many units one byte names, zero being null; maxBlocks is what two words of availability cover.
const (
	maxUnits     = 255
	maxBlocks    = 64 * 64
	maxBlockBits = 64
)

// available says which of up to 4096 things are free: "Initialized with all 0, indicating that all SR state units are
// available. When an SR state unit is assigned to a specific QP, the corresponding position in the bitmap is set to 1"
// (FaSR III-C1; III-C2 for blocks). full has a bit for each word without a zero, so that finding one is two
// instructions however many there are.
type available struct {
	used  [64]uint64
	full  uint64
	n     int // things there are
	taken int
	high  int // the most that were taken at once
}

// take returns the lowest free one; ok is false when there is none.
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

// give returns i, which is taken.
func (a *available) give(i int) {
	a.used[i>>6] &^= 1 << (i & 63)
	a.full &^= 1 << (i >> 6)
	a.taken--
}

// left returns how many are free.
func (a *available) left() int { return a.n - a.taken }

// pool is the two-level shared SR pool of one endpoint (FaSR III-C, Figure 5). A QP that loses nothing has no part of
// it.
type pool struct {
	unitMap  available
	units    []stateUnit // level 1
	blockMap available
	blocks   []block // level 2
	perBlock int     // packets that a block records

	exhausted int64 // how often a unit or a block was wanted and none was left
}

// stateUnit is an SR state unit: "a complete set of SR-required states and pairs of bitmap start and end pointer and
// lost-cnts" (FaSR III-C1).
type stateUnit struct {
	roles uint8 // the places that are in recovery, a bit each
	state [roles]state
}

// role is a place of a QP that can be in recovery. The paper has five, as IRN has five bitmaps; IRN's receiver has two,
// because it places data before its turn and must remember where messages end. Here packets wait in the reorder store,
// which remembers that itself, and one bitmap does.
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

// nic is what the two halves of a QP know of the NIC that they share with all other QPs: the pool, and the QP's SR
// state pointer. "When there is no packet loss in the QP, this pointer is set to null" (FaSR III-C1).
type nic struct {
	host    *Host
	pointer uint8 // the unit's number plus one; 0 is null
}

// acquire returns the state of a place that enters recovery, and allocates the QP's unit for the first; nil when the
// pool has none.
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

// release ends the recovery of a place. "When QP exits the loss-recovery state, the corresponding position in the SR
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
