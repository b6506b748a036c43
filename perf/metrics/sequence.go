package metrics

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Limits of sequence plots: the first connections, and 48 000 marks when four connections have one requester each.
const (
	plotted    = 4
	firstMarks = 30_000
	otherMarks = 6_000
)

// plot collects the marks of one half-conversation. When it is full, every second mark of the least important kind is
// dropped and only every second of that kind is taken from then on, and so on: deterministic, and even over time.
type plot struct {
	marks  []Mark
	limit  int
	stride [5]int // by kind: every stride-th mark is kept; powers of two
	seen   [5]int
}

func newPlot(conn int) *plot {
	p := &plot{limit: otherMarks, stride: [5]int{1, 1, 1, 1, 1}}
	if conn == 0 {
		p.limit = firstMarks
	}
	return p
}

// add records a mark; a nil plot ignores it.
func (p *plot) add(at vtime.Time, offset int64, kind MarkKind) {
	if p == nil {
		return
	}
	n := p.seen[kind]
	p.seen[kind]++
	if n&(p.stride[kind]-1) != 0 {
		return
	}
	if len(p.marks) == p.limit {
		p.thin()
		if n&(p.stride[kind]-1) != 0 {
			return
		}
	}
	p.marks = append(p.marks, Mark{At: at, Offset: offset, Kind: kind})
}

// thin makes room. First transmissions and ACKs, which form lines that are recognisable with gaps, are reduced to a
// quarter of the plot first, then retransmissions, and then losses and NAKs.
func (p *plot) thin() {
	var count [5]int
	for i := range p.marks {
		count[p.marks[i].Kind]++
	}
	larger := func(a, b MarkKind) MarkKind {
		if count[a] < count[b] {
			return b
		}
		return a
	}
	switch {
	case count[SentFirst]+count[AckMark] >= p.limit/4:
		p.halve(larger(SentFirst, AckMark))
	case count[SentAgain] >= p.limit/4:
		p.halve(SentAgain)
	default:
		p.halve(larger(LostMark, NakMark))
	}
}

// halve drops every second mark of a kind. Those kept are the ones at multiples of the stride, from the first on.
func (p *plot) halve(kind MarkKind) {
	n := 0
	p.marks = slices.DeleteFunc(p.marks, func(m Mark) bool {
		if m.Kind != kind {
			return false
		}
		n++
		return n%2 == 0
	})
	p.stride[kind] *= 2
}

// sequence returns the collected marks.
func (p *plot) sequence(conn int, side trace.Side) Sequence {
	return Sequence{Conn: conn, From: side.String(), Marks: slices.Clone(p.marks),
		Thinned: p.stride != [5]int{1, 1, 1, 1, 1}}
}
