package recording

// sizes counts payloads of packets that must be full: a few sizes, because there should be one.
type sizes [4]struct{ bytes, n int32 }

// add counts a payload. With no room left, the one that is rarest makes room.
func (z *sizes) add(bytes int) {
	least := 0
	for i := range z {
		if z[i].n == 0 || z[i].bytes == int32(bytes) {
			z[i].bytes = int32(bytes)
			z[i].n++
			return
		}
		if z[i].n < z[least].n {
			least = i
		}
	}
	z[least].bytes, z[least].n = int32(bytes), 1
}

// mtu is the path MTU of the connection of a flow: the most frequent payload of its packets that must be full, in either direction. A
// connection without such packets has that of the others, unless a packet of its own shows that it has another one.
func (w *flow) mtu(others int) int {
	both, most := w.full, w.most
	if r := w.peer; r != nil {
		most = max(most, r.most)
		for _, x := range r.full {
			if x.n > 0 {
				both.merge(x.bytes, x.n)
			}
		}
	}
	var best struct{ bytes, n int32 }
	for _, x := range both {
		if x.n > best.n || x.n == best.n && x.bytes > best.bytes {
			best = x
		}
	}
	switch {
	case best.n > 0:
		return int(best.bytes)
	case most > others:
		return 0
	}
	return others
}

// merge adds n payloads of one size, if there is room for it.
func (z *sizes) merge(bytes, n int32) {
	for i := range z {
		if z[i].n == 0 || z[i].bytes == bytes {
			z[i].bytes = bytes
			z[i].n += n
			return
		}
	}
}
