package recording

import "net/netip"

// A capture establishes of a connection what nearly all of its frames agree on: the QP numbers, the P_Key of either end, the MTU,
// and whether a sender knows how to make an ICRC. The few frames that differ can then be judged. Nothing of it is an attribute that
// anybody has told, so rules compare frames with it and conclude nothing else.

// pkey is the P_Key that most packets of a flow carry.
func (w *flow) pkey() uint16 {
	key, _ := w.keys.most(anyValue)
	return uint16(key)
}

// seals counts, by sender, whole frames by whether their ICRC is right.
type seals struct {
	right, wrong map[netip.Addr]int
	never        map[netip.Addr]bool // senders whose frames count although their ICRC is wrong
}

// unsealedLeast is how many frames a sender must have sent, all with a wrong ICRC, to be taken for one that makes them so: a link that
// damages addresses invents senders, of one frame each.
const unsealedLeast = 4

// take reports whether a frame counts.
func (s *seals) take(from netip.Addr, sealed bool) bool {
	if s.right == nil {
		s.right, s.wrong = map[netip.Addr]int{}, map[netip.Addr]int{}
	}
	count := s.wrong
	if sealed {
		count = s.right
	}
	if _, known := count[from]; known || len(count) < flowLimit {
		count[from]++
	}
	return sealed || s.never[from]
}

// unsealed returns the senders that never made a right ICRC; nil when there are none.
func (s *seals) unsealed() (list map[netip.Addr]bool) {
	for from, n := range s.wrong {
		if n < unsealedLeast || s.right[from] > 0 {
			continue
		}
		if list == nil {
			list = map[netip.Addr]bool{}
		}
		list[from] = true
	}
	return list
}
