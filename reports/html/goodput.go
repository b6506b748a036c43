package html

import (
	"fmt"
	"html/template"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/perf/metrics"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// goodput is the figure of payload delivered over time, drawn for wide and narrow pages, and its table.
type goodput struct {
	Wide, Narrow template.HTML
	Rows         []interval
	Step         string
}

// interval is one row of the table.
type interval struct {
	From, To string
	Bytes    string
	Rate     string
	ps       [2]vtime.Duration
	bps      float64
}

// newGoodput returns nil when nothing was delivered.
func newGoodput(r *model.Result) *goodput {
	rows := intervals(r)
	if len(rows) == 0 || r.PayloadBytes == 0 {
		return nil
	}
	step := rows[0].ps[1]
	return &goodput{
		Wide:   drawGoodput(r, rows, "gw", "wide", 960, 280, 10),
		Narrow: drawGoodput(r, rows, "gn", "narrow", 400, 240, 4),
		Rows:   rows, Step: ns(step),
	}
}

// mostIntervals is how many a figure shows: enough to see a recovery, few enough that single ACKs are no spikes.
const mostIntervals = 120

// coarse merges neighbouring intervals of a timeline until there are few enough.
func coarse(t metrics.Timeline) metrics.Timeline {
	n := (len(t.Bytes) + mostIntervals - 1) / mostIntervals
	if n <= 1 {
		return t
	}
	out := metrics.Timeline{Start: t.Start, Step: t.Step * vtime.Duration(n),
		Bytes: make([]int64, (len(t.Bytes)+n-1)/n)}
	for i, bytes := range t.Bytes {
		out.Bytes[i/n] += bytes
	}
	return out
}

// intervals turns the timeline into rates. The last interval ends where the measurement does.
func intervals(r *model.Result) []interval {
	t := coarse(r.Timeline)
	elapsed := vtime.Duration(r.ElapsedNs) * vtime.Nanosecond
	if t.Step <= 0 || elapsed <= 0 {
		return nil
	}
	var rows []interval
	for i, n := range t.Bytes {
		from := vtime.Duration(i) * t.Step
		to := min(from+t.Step, elapsed)
		if to-from < t.Step/4 && i > 0 {
			// A sliver, or bytes right on the border: a separate rate for these would mean nothing.
			last := &rows[len(rows)-1]
			total := last.bps/8*(last.ps[1]-last.ps[0]).Seconds() + float64(n)
			*last = newInterval(last.ps[0], max(to, last.ps[1]), int64(total+0.5))
			continue
		}
		rows = append(rows, newInterval(from, to, n))
	}
	return rows
}

func newInterval(from, to vtime.Duration, n int64) interval {
	i := interval{ps: [2]vtime.Duration{from, to}, bps: float64(n) * 8 / max((to-from).Seconds(), 1e-12)}
	i.From, i.To = ns(from), ns(to)
	i.Bytes, i.Rate = quantity.Bytes(n), quantity.Rate(i.bps)
	return i
}

func ns(d vtime.Duration) string { return quantity.Duration(int64(d / vtime.Nanosecond)) }

// drawGoodput draws the rates as steps, with the mean and, where it is known and near, the line rate.
func drawGoodput(r *model.Result, rows []interval, id, class string, width, height float64, labels int) template.HTML {
	top, end := 0.0, rows[len(rows)-1].ps[1]
	for _, row := range rows {
		top = max(top, row.bps)
	}
	line := lineRate(r)
	showLine := line > 0 && line < 2.5*top
	if showLine {
		top = max(top, line)
	}
	y := newAxis(top, 4, true, rateUnits, height-44, 34)
	x := newAxis(float64(end), labels, false, timeUnits, 54, width-14)
	c := newCanvas(id, class, width, height, "Goodput over time", describe(r, rows))
	c.frame(&x, &y, "time since the first packet", "goodput")
	c.steps(rows, &x, &y)
	if showLine {
		c.line("limit", x.from, y.px(line), x.to, y.px(line))
		c.text("note", "end", x.to, y.px(line)-6, "line rate "+quantity.Rate(line))
	}
	c.line("mean", x.from, y.px(r.GoodputBps), x.to, y.px(r.GoodputBps))
	c.text("note strong", "end", x.to-2, y.px(r.GoodputBps)-6, "mean "+quantity.Rate(r.GoodputBps))
	return c.done()
}

// steps draws the rates as an area under a step line.
func (c *canvas) steps(rows []interval, x, y *axis) {
	var d strings.Builder
	for i, row := range rows {
		move := "L"
		if i == 0 {
			move = "M"
		}
		fmt.Fprintf(&d, "%s%s %sH%s", move, coord(x.px(float64(row.ps[0]))), coord(y.px(row.bps)),
			coord(x.px(float64(row.ps[1]))))
	}
	line := d.String()
	c.path("area", fmt.Sprintf("%sV%sH%sZ", line, coord(y.from), coord(x.from)))
	c.path("curve", line)
}

// lineRate is the rate that utilisation refers to; 0 when the line was unlimited.
func lineRate(r *model.Result) float64 {
	if r.Utilisation <= 0 {
		return 0
	}
	return r.GoodputBps / r.Utilisation
}

// describe summarises the figure in a sentence.
func describe(r *model.Result, rows []interval) string {
	least, most := rows[0], rows[0]
	for _, row := range rows {
		if row.bps < least.bps {
			least = row
		}
		if row.bps > most.bps {
			most = row
		}
	}
	return fmt.Sprintf(
		"Payload delivered per interval of %s: %s on average, at least %s (from %s on), at most %s (from %s on).",
		ns(rows[0].ps[1]), quantity.Rate(r.GoodputBps), least.Rate, least.From, most.Rate, most.From)
}
