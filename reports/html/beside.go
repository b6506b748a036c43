package html

import (
	"fmt"
	"html/template"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/perf/metrics"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Pair is the plot of one connection in two runs with the same axes: marks at the same place are at the same time after
// the first packet.
type Pair struct {
	Title    string
	Drawings [2]template.HTML
	Counts   [2]string // of the marks, in words
	Thinned  bool      // marks were left out of one
	Differ   string    // time of the first different mark; "" if all are equal
	Closer   [2]template.HTML
}

// Beside draws the first plot that two runs have of the same requests, whole and around the first difference; nil when
// they have none. The names of elements in a page begin with id, and runs are called by names.
func Beside(id string, runs [2]*model.Result, names [2]string) *Pair {
	for i := range runs[0].Sequences {
		a := &runs[0].Sequences[i]
		for k := range runs[1].Sequences {
			b := &runs[1].Sequences[k]
			if a.Conn == b.Conn && a.From == b.From && len(a.Marks) > 0 && len(b.Marks) > 0 {
				return newPair(id, runs, names, [2]*metrics.Sequence{a, b})
			}
		}
	}
	return nil
}

// pairing is a pair under construction.
type pairing struct {
	*Pair
	runs  [2]*model.Result
	names [2]string
	marks [2][]metrics.Mark // in time, from the first packet of the run
}

func newPair(id string, runs [2]*model.Result, names [2]string, plots [2]*metrics.Sequence) *Pair {
	p := &pairing{
		Pair:  &Pair{Title: fmt.Sprintf("connection %d, requests of %s", plots[0].Conn, plots[0].From)},
		runs:  runs,
		names: names,
	}
	for i := range runs {
		p.marks[i] = ordered(plots[i].Marks)
		p.Thinned = p.Thinned || plots[i].Thinned
		_, p.Counts[i] = counted(p.marks[i])
	}
	p.Drawings = p.draw(id, "aligned", p.marks, fromPacket, fromRequest)
	if at, ok := p.differ(); ok {
		p.Differ = ns(at)
		p.closer(id+"-closer", at)
	}
	return p.Pair
}

// draw draws marks of both runs in the same frame.
func (p *pairing) draw(id, class string, marks [2][]metrics.Mark, xName, yName string) (out [2]template.HTML) {
	s := scene{class: class, width: 470, height: 360, labels: 5, xName: xName, yName: yName}
	for i, r := range p.runs {
		s.end, s.top = max(s.end, end(r, marks[i])), max(s.top, top(marks[i]))
	}
	for i, r := range p.runs {
		counts, _ := counted(marks[i])
		s.id, s.title, s.legend = fmt.Sprintf("%s-%d", id, i), p.names[i]+", "+p.Title, i == 0
		out[i] = drawMarks(r, marks[i], counts, &s)
	}
	return out
}

// counted returns the numbers of marks by kind, and in words.
func counted(marks []metrics.Mark) (counts [len(kindNames)]int, words string) {
	for _, m := range marks {
		counts[m.Kind]++
	}
	return counts, summary(counts)
}

// since returns the time of a mark from the first packet of its run.
func (p *pairing) since(i, k int) vtime.Duration {
	return p.marks[i][k].At.Sub(p.runs[i].Timeline.Start)
}

// differ returns the time of the first mark of one run that the other lacks.
func (p *pairing) differ() (at vtime.Duration, ok bool) {
	for k := range max(len(p.marks[0]), len(p.marks[1])) {
		switch {
		case k >= len(p.marks[0]):
			return p.since(1, k), true
		case k >= len(p.marks[1]):
			return p.since(0, k), true
		}
		a, b := &p.marks[0][k], &p.marks[1][k]
		if p.since(0, k) != p.since(1, k) || a.Kind != b.Kind || a.Offset != b.Offset {
			return min(p.since(0, k), p.since(1, k)), true
		}
	}
	return 0, false
}

// closer draws the marks around a time: long enough for a recovery, a quarter of it before that time.
func (p *pairing) closer(id string, at vtime.Duration) {
	wide := vtime.Duration(0)
	for i, r := range p.runs {
		wide = max(wide, vtime.Duration(window(r, p.marks[i])), vtime.Duration(end(r, p.marks[i])/20))
	}
	from := max(0, at-wide/4)
	var near [2][]metrics.Mark
	least, any := int64(0), false
	for i := range p.marks {
		for k, m := range p.marks[i] {
			if t := p.since(i, k); t >= from && t <= from+wide {
				if m.At = p.runs[i].Timeline.Start.Add(t - from); !any || m.Offset < least {
					least, any = m.Offset, true
				}
				near[i] = append(near[i], m)
			}
		}
	}
	for i := range near {
		for k := range near[i] {
			near[i][k].Offset -= least
		}
	}
	p.Closer = p.draw(id, "aligned closer", near, "time since "+ns(from), "PSN, counted from "+signed(least))
}
