package site

import (
	"fmt"
	"math"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/perf/history"
	"github.com/rdma-gauntlet/gauntlet/perf/stats"
)

// plot is a series in time; the template draws it. Coordinates are pixels.
type plot struct {
	Class, Title, Says       string
	Width, Height            float64
	Left, Right, Top, Bottom float64
	Bands, Lines             []string // paths
	Dots                     []dot
	Gaps                     []dot
	Marks                    []dot // changes
	Begins                   []dot // segments
	X, Y                     []dot // labels
}

type dot struct {
	X, Y              float64
	Href, Text, Class string
}

// drawing is a plot in the making.
type drawing struct {
	*plot
	t         *history.Track
	low, high float64
}

func newPlot(s *Site, t *history.Track, begins map[int]string, marks []mark, wide bool) *plot {
	p := &plot{Class: "course wide", Width: 960, Height: 320, Left: 96, Right: 944, Top: 34, Bottom: 284}
	if !wide {
		p.Class, p.Width, p.Height, p.Left, p.Right, p.Bottom = "course narrow", 380, 280, 74, 370, 240
	}
	p.Title = named(t.Name, t.Host) + " night by night"
	p.Says = fmt.Sprintf("%d points from %s to %s, the last %s; %d changes, %d segments begin. The "+
		"table below has all.",
		len(t.Entries), t.Entries[0].Night, t.Last().Night, text(t.Last()), len(marks), len(begins))
	d := &drawing{plot: p, t: t}
	d.scale()
	d.points(s, begins)
	if t.Class != history.Exact && t.Last().Word == "" {
		d.band(begins)
	}
	for _, m := range marks {
		for i := range t.Entries {
			if t.Entries[i].Night == m.Night {
				at := dot{X: d.x(i), Y: d.Top - 8, Text: m.Night + ": " + string(m.Kind), Class: tone(m)}
				if m.Page != "" {
					at.Href = "./" + m.Page
				}
				d.Marks = append(d.Marks, at)
				break
			}
		}
	}
	d.labels()
	return p
}

// tone is the class of a mark.
func tone(m mark) string {
	if m.Kind.Worse() {
		return "worse"
	}
	return "better"
}

// of is the number of an entry that is drawn: that of a verdict is 1 where nothing failed.
func of(e *history.Entry) float64 {
	switch {
	case e.Word == "":
		return e.Value()
	case strings.HasPrefix(e.Word, "PASS"):
		return 1
	}
	return 0
}

// scale finds out from where to where the numbers go, with some room.
func (d *drawing) scale() {
	d.low, d.high = math.Inf(1), math.Inf(-1)
	for i := range d.t.Entries {
		if v := of(&d.t.Entries[i]); !math.IsNaN(v) {
			d.low, d.high = min(d.low, v), max(d.high, v)
		}
	}
	if d.low > d.high {
		d.low, d.high = 0, 1
	}
	room := max((d.high-d.low)*0.15, math.Abs(d.high)*0.01, 1e-9)
	if d.t.Last().Word != "" {
		d.low, d.high, room = 0, 1, 0.15
	}
	d.low, d.high = d.low-room, d.high+room
}

func (d *drawing) x(i int) float64 {
	return round(d.Left + (d.Right-d.Left)*(float64(i)+0.5)/float64(len(d.t.Entries)))
}

func (d *drawing) y(v float64) float64 {
	v = min(max(v, d.low), d.high)
	return round(d.Bottom - (d.Bottom-d.Top)*(v-d.low)/(d.high-d.low))
}

// points draws what was measured: a line within a segment, a dot for each, a tick below for a gap.
func (d *drawing) points(s *Site, begins map[int]string) {
	var line strings.Builder
	for i := range d.t.Entries {
		e := &d.t.Entries[i]
		if b := begins[i]; b != "" {
			d.Begins = append(d.Begins, dot{X: round(d.x(i) - 2), Text: b + " from " + e.Night})
			d.Lines, line = append(d.Lines, line.String()), strings.Builder{}
		}
		at := dot{X: d.x(i), Text: e.Night + ": " + text(e), Href: s.link(e.Run)}
		if e.Gap() {
			at.Y = d.Bottom
			d.Gaps = append(d.Gaps, at)
			continue
		}
		if at.Y = d.y(of(e)); strings.HasPrefix(e.Word, "FAIL") {
			at.Class = "bad"
		}
		verb := "L"
		if line.Len() == 0 {
			verb = "M"
		}
		fmt.Fprintf(&line, "%s%g %g", verb, at.X, at.Y)
		d.Dots = append(d.Dots, at)
	}
	d.Lines = append(d.Lines, line.String())
}

// band draws for each stretch, which is a segment or what lies between alarms, where its numbers are usually.
func (d *drawing) band(begins map[int]string) {
	first := 0
	for i := 1; i <= len(d.t.Entries); i++ {
		if i < len(d.t.Entries) && begins[i] == "" && !d.alarm(i) {
			continue
		}
		if path := d.stretch(first, i); path != "" {
			d.Bands = append(d.Bands, path)
		}
		first = i
	}
}

// alarm reports whether a level begins at an entry.
func (d *drawing) alarm(i int) bool {
	for _, a := range d.t.Alarms {
		if a.Since == d.t.Entries[i].Night {
			return true
		}
	}
	return false
}

// stretch is the outline of the band over some entries.
func (d *drawing) stretch(from, to int) string {
	var values []float64
	var over, under []string
	for i := from; i < to; i++ {
		e := &d.t.Entries[i]
		if e.Gap() || e.Word != "" {
			continue
		}
		values = append(values, e.Value())
		if m, err := stats.Mean(e.Values, 0.95); err == nil && d.t.Class == history.Paired {
			over = append(over, fmt.Sprintf("%g %g", d.x(i), d.y(m.High)))
			under = append([]string{fmt.Sprintf("%g %g", d.x(i), d.y(m.Low))}, under...)
		}
	}
	if d.t.Class == history.Noisy && len(values) > 2 {
		middle := stats.Median(values)
		room := 3 * stats.Spread(values, middle)
		left, right := d.x(from), d.x(to-1)
		over = []string{fmt.Sprintf("%g %g", left, d.y(middle+room)), fmt.Sprintf("%g %g", right, d.y(middle+room))}
		under = []string{fmt.Sprintf("%g %g", right, d.y(middle-room)), fmt.Sprintf("%g %g", left, d.y(middle-room))}
	}
	if len(over) < 2 {
		return ""
	}
	return "M" + strings.Join(append(over, under...), "L") + "Z"
}

// labels names values on the left and nights below.
func (d *drawing) labels() {
	last := d.t.Last()
	if last.Word != "" {
		d.Y = []dot{{X: d.Left - 8, Y: d.y(1), Text: "PASS"}, {X: d.Left - 8, Y: d.y(0), Text: "other"}}
	} else {
		unit := d.t.Unit
		if len(last.Reference) > 0 {
			unit = ""
		}
		for i := range 4 {
			v := d.low + (d.high-d.low)*(float64(i)+0.5)/4
			d.Y = append(d.Y, dot{X: d.Left - 8, Y: d.y(v), Text: value(v, unit)})
		}
	}
	n := len(d.t.Entries)
	d.X = []dot{{X: d.Left, Y: d.Bottom + 24, Text: d.t.Entries[0].Night, Class: "start"}}
	if n > 1 {
		d.X = append(d.X, dot{X: d.Right, Y: d.Bottom + 24, Text: last.Night, Class: "end"})
	}
}

func round(x float64) float64 { return math.Round(x*10) / 10 }
