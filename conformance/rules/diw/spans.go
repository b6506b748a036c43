package diw

import (
	"strconv"
	"strings"
)

// spans is a set of bytes: disjoint ranges in order, none touching the next.
type spans []span

type span struct{ from, to uint32 }

// add puts [from, to) in.
func (s *spans) add(from, to uint32) {
	if from == to {
		return
	}
	out := (*s)[:0:0]
	for _, x := range *s {
		if x.to < from || x.from > to {
			out = append(out, x)
			continue
		}
		from, to = min(from, x.from), max(to, x.to)
	}
	i := 0
	for i < len(out) && out[i].from < from {
		i++
	}
	out = append(out, span{})
	copy(out[i+1:], out[i:])
	out[i] = span{from, to}
	*s = out
}

// without reports whether no byte of [from, to) is in.
func (s spans) without(from, to uint32) bool {
	for _, x := range s {
		if x.from < to && from < x.to {
			return false
		}
	}
	return true
}

// covers reports whether all bytes of [from, to) are in.
func (s spans) covers(from, to uint32) bool {
	if from == to {
		return true
	}
	for _, x := range s {
		if x.from <= from && to <= x.to {
			return true
		}
	}
	return false
}

// equal compares two sets.
func (s spans) equal(t spans) bool {
	if len(s) != len(t) {
		return false
	}
	for i := range s {
		if s[i] != t[i] {
			return false
		}
	}
	return true
}

// String prints the ranges: "0..1000 2000..2500", or "nothing".
func (s spans) String() string {
	if len(s) == 0 {
		return "nothing"
	}
	var words []string
	for _, x := range s {
		words = append(words, strconv.Itoa(int(x.from))+".."+strconv.Itoa(int(x.to)))
	}
	return strings.Join(words, " ")
}

func decimal(n uint64) string { return strconv.FormatUint(n, 10) }
