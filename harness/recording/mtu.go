package recording

import "github.com/rdma-gauntlet/gauntlet/harness/roce"

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

// most returns the value seen most often among those that fit, of several the largest, and how often; n is 0 when none was counted.
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

// mtu is the path MTU of the connection of a flow: the most frequent payload of its packets that must be full, in either direction, among
// those that a path can have, if there is one. A connection without such packets has that of the others, unless a packet of its own shows that it has another one.
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
