package recording

import (
	"net/netip"

	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// This file derives from a capture the values on which nearly all frames of a connection agree: the QP numbers, the
// P_Key of either end, the MTU, and whether a sender makes right ICRCs. The few frames that differ can then be judged.
// The values are not configured attributes, so rules compare frames with them and conclude nothing else.

// pkey returns the P_Key that most packets of a flow carry.
func (w *flow) pkey() uint16 {
	key, _ := w.keys.most(anyValue)
	return uint16(key)
}

// seal counts the complete frames of a sender with a right and with a wrong ICRC.
type seal struct{ right, wrong int }

// seals holds the counts of all senders.
type seals struct {
	by    map[netip.Addr]*seal
	never map[netip.Addr]bool // senders whose frames are used although their ICRC is wrong
}

// unsealedLeast is the least number of frames, all with a wrong ICRC, after which the sender is taken to make wrong
// ICRCs. Damaged addresses look like senders of one frame each.
const unsealedLeast = 4

// take counts a frame, of flow w if that is known, and reports whether it may be used.
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

// of returns the counts of a sender, from its flow w if that is known; nil when there are too many senders.
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

// tally counts values; it is fast for long runs of equal values.
type tally struct {
	counts map[int]int
	value  int // the latest value
	times  int // length of the run of value, not yet in counts
}

// add counts a value.
func (t *tally) add(value int) {
	if value != t.value {
		t.flush()
		t.value = value
	}
	t.times++
}

// flush adds the latest run to counts.
func (t *tally) flush() {
	if t.counts == nil {
		t.counts = map[int]int{}
	}
	if t.times > 0 {
		t.counts[t.value] += t.times
		t.times = 0
	}
}

// most returns the most frequent value (of several the largest) and its count; both are 0 when nothing was counted.
func (t *tally) most() (value, times int) {
	t.flush()
	for v, n := range t.counts {
		if n > times || n == times && v > value {
			value, times = v, n
		}
	}
	return value, times
}

// counts counts the values of a field that should have one value; it holds a few values with their counts.
type counts [4]struct{ value, n int32 }

// add counts a value. When there is no room, it replaces the rarest value.
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

// merge adds the counts of o, as far as there is room.
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

// most returns the most frequent value that fits (of several the largest) and its count; n is 0 when there is none.
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

// longest returns the largest payload length in either direction.
func (w *flow) longest() int {
	if r := w.peer; r != nil {
		return max(w.most, r.most)
	}
	return w.most
}

// roundUp returns the smallest path MTU that takes a payload, or the payload if none does.
func roundUp(n int) int {
	for _, mtu := range roce.PathMTUs {
		if n <= mtu {
			return mtu
		}
	}
	return n
}

// anyValue fits every value.
func anyValue(int) bool { return true }

// agrees reports whether all packets of w and r fit one path MTU.
func (w *flow) agrees(r *flow) bool {
	both, most := w.full, max(w.most, r.most)
	both.merge(&r.full)
	full, n := both.most(anyValue)
	for _, x := range both {
		if x.n > 0 && int(x.value) != full {
			return false
		}
	}
	return n == 0 || most <= full
}

// span returns the number of PSNs of a packet; 0 for a READ that may have several, while the MTU is unknown. Others is
// as for mtu.
func (w *flow) span(p *roce.Packet, others int) int {
	if p.Opcode != roce.ReadRequest || p.RETH.DMALen <= uint32(roce.PathMTUs[0]) {
		return 1
	}
	mtu := w.mtu(others)
	if mtu == 0 {
		return 0
	}
	return (int(min(p.RETH.DMALen, psn.Half/2)) + mtu - 1) / mtu
}

// mtu returns the path MTU of a flow's connection: the most frequent payload length of packets that must be full, in
// either direction, preferring lengths that are path MTUs; another length only if no packet is longer. For a connection
// without such packets it returns others, the MTU of the other connections; 0 if a packet of the connection is longer
// than that.
func (w *flow) mtu(others int) int {
	both, largest := w.full, w.longest()
	if r := w.peer; r != nil {
		both.merge(&r.full)
	}
	mtu, n := both.most(roce.IsPathMTU)
	if n == 0 {
		mtu, n = both.most(anyValue)
	}
	switch {
	case n > 0 && (roce.IsPathMTU(mtu) || largest <= mtu):
		return mtu
	case largest > others:
		return 0
	}
	return others
}
