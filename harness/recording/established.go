package recording

import (
	"net/netip"

	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// A capture establishes of a connection what nearly all of its frames agree on: the QP numbers, the P_Key of either
// end, the MTU, and whether a sender knows how to make an ICRC. The few frames that differ can then be judged. Nothing
// of it is an attribute that anybody has told, so rules compare frames with it and conclude nothing else.

// pkey is the P_Key that most packets of a flow carry.
func (w *flow) pkey() uint16 {
	key, _ := w.keys.most(anyValue)
	return uint16(key)
}

// seal counts the whole frames of a sender, by whether their ICRC is right.
type seal struct{ right, wrong int }

// seals has the counts of all senders.
type seals struct {
	by    map[netip.Addr]*seal
	never map[netip.Addr]bool // senders whose frames count although their ICRC is wrong
}

// unsealedLeast is how many frames a sender must have sent, all with a wrong ICRC, to be taken for one that makes them
// so: a link that damages addresses invents senders, of one frame each.
const unsealedLeast = 4

// take reports whether a frame counts, of flow w if that is known.
func (s *seals) take(w *flow, from netip.Addr, sealed bool) bool {
	switch c := s.of(w, from); {
	case c == nil:
	case sealed:
		c.right++
	default:
		c.wrong++
	}
	return sealed || s.never[from]
}

// of returns the counts of a sender, of flow w if that is known; nil when there are too many.
func (s *seals) of(w *flow, from netip.Addr) *seal {
	if w != nil {
		return w.seal
	}
	c := s.by[from]
	if c == nil && len(s.by) < flowLimit {
		if s.by == nil {
			s.by = map[netip.Addr]*seal{}
		}
		c = new(seal)
		s.by[from] = c
	}
	return c
}

// unsealed returns the senders that never made a right ICRC; nil when there are none.
func (s *seals) unsealed() (list map[netip.Addr]bool) {
	for from, c := range s.by {
		if c.wrong < unsealedLeast || c.right > 0 {
			continue
		}
		if list == nil {
			list = map[netip.Addr]bool{}
		}
		list[from] = true
	}
	return list
}

// tally counts values of which many are the same in a row.
type tally struct {
	counts map[int]int
	value  int // the latest,
	times  int // and how often it came since the one before
}

// add counts a value.
func (t *tally) add(value int) {
	if value != t.value {
		t.flush()
		t.value = value
	}
	t.times++
}

// flush adds up the latest values.
func (t *tally) flush() {
	if t.counts == nil {
		t.counts = map[int]int{}
	}
	if t.times > 0 {
		t.counts[t.value] += t.times
		t.times = 0
	}
}

// most returns the most frequent value, of several the largest, and how often it came; both are 0 when nothing was
// counted.
func (t *tally) most() (value, times int) {
	t.flush()
	for v, n := range t.counts {
		if n > times || n == times && v > value {
			value, times = v, n
		}
	}
	return value, times
}

// counts counts the values of something that should have one: a few values, with how often each was seen.
type counts [4]struct{ value, n int32 }

// add counts a value. With no room left, the one that is rarest makes room.
func (z *counts) add(value int) {
	least := 0
	for i := range z {
		if z[i].n == 0 || z[i].value == int32(value) {
			z[i].value = int32(value)
			z[i].n++
			return
		}
		if z[i].n < z[least].n {
			least = i
		}
	}
	z[least].value, z[least].n = int32(value), 1
}

// merge adds what another one has counted, as far as there is room for it.
func (z *counts) merge(o *counts) {
	for _, x := range o {
		for i := range z {
			if x.n > 0 && (z[i].n == 0 || z[i].value == x.value) {
				z[i].value = x.value
				z[i].n += x.n
				break
			}
		}
	}
}

// most returns the value seen most often among those that fit, of several the largest, and how often; n is 0 when none
// was counted.
func (z *counts) most(fits func(value int) bool) (value, n int) {
	for _, x := range z {
		if x.n == 0 || !fits(int(x.value)) {
			continue
		}
		if int(x.n) > n || int(x.n) == n && int(x.value) > value {
			value, n = int(x.value), int(x.n)
		}
	}
	return value, n
}

// anyValue fits whatever was counted.
func anyValue(int) bool { return true }

// mtu is the path MTU of the connection of a flow: the most frequent payload of its packets that must be full, in
// either direction, among those that a path can have, if there is one. A connection without such packets has that of
// the others, unless a packet of its own shows that it has another one.
func (w *flow) mtu(others int) int {
	both, largest := w.full, w.most
	if r := w.peer; r != nil {
		largest = max(largest, r.most)
		both.merge(&r.full)
	}
	mtu, n := both.most(roce.IsPathMTU)
	if n == 0 {
		mtu, n = both.most(anyValue)
	}
	switch {
	case n > 0:
		return mtu
	case largest > others:
		return 0
	}
	return others
}
