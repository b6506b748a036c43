package diw

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// spans is a set of bytes: disjoint ranges in ascending order that do not touch.
type spans []span

type span struct{ from, to uint32 }

// add adds [from, to).
func (s *spans) add(from, to uint32) {
	if from == to {
		return
	}
	*s = slices.DeleteFunc(*s, func(x span) bool {
		apart := x.to < from || x.from > to
		if !apart {
			from, to = min(from, x.from), max(to, x.to)
		}
		return !apart
	})
	i, _ := slices.BinarySearchFunc(*s, from, func(x span, from uint32) int { return cmp.Compare(x.from, from) })
	*s = slices.Insert(*s, i, span{from, to})
}

// without reports whether no byte of [from, to) is in s.
func (s spans) without(from, to uint32) bool {
	return !slices.ContainsFunc(s, func(x span) bool { return x.from < to && from < x.to })
}

// covers reports whether all bytes of [from, to) are in s.
func (s spans) covers(from, to uint32) bool {
	return from == to || slices.ContainsFunc(s, func(x span) bool { return x.from <= from && to <= x.to })
}

// end returns the end of the last range.
func (s spans) end() uint32 {
	if len(s) == 0 {
		return 0
	}
	return s[len(s)-1].to
}

// String returns the ranges: "0..1000 2000..2500", or "nothing".
func (s spans) String() string {
	if len(s) == 0 {
		return "nothing"
	}
	words := make([]string, len(s))
	for i, x := range s {
		words[i] = fmt.Sprintf("%d..%d", x.from, x.to)
	}
	return strings.Join(words, " ")
}
