package html

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/perf/metrics"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// sequence is the figure of PSNs over time: data for the interactive plot, a drawing for print and for browsers without
// scripts, and a table of losses, NAKs and retransmissions.
type sequence struct {
	Title   string
	Data    plotData
	Static  template.HTML
	Rows    []event
	Left    int // events that the table leaves out
	Thinned bool
	Empty   bool // nothing was lost or repeated
	Counts  []model.Fact
}

// plotData is the input of the script.
type plotData struct {
	Name   string       `json:"name"`
	Unit   string       `json:"unit"`
	Window float64      `json:"window"` // in Unit: a span around a loss that shows its recovery
	Marks  [][2]columns `json:"marks"`  // by kind: times in Unit, offsets
}

type columns []number

// number prints as short as its precision allows.
type number struct {
	v        float64
	decimals int
}

// MarshalJSON implements json.Marshaler.
func (n number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(n.v) || math.IsInf(n.v, 0) {
		return []byte("null"), nil
	}
	s := strconv.FormatFloat(n.v, 'f', n.decimals, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return []byte(s), nil
}

// event is a row of the table.
type event struct{ Time, Offset, What string }

// tableLimit bounds the rows of a sequence table; the plot and result.json have the rest.
const tableLimit = 200

// kindNames are the kinds of marks as legend and table name them.
var kindNames = [...]string{"first transmission", "retransmission", "lost", "ACK", "NAK"}

// kindClasses are their classes in the style sheet.
var kindClasses = [...]string{"k-first", "k-again", "k-lost", "k-ack", "k-nak"}

// newSequences makes the figures of all plots that have marks.
func newSequences(r *model.Result) []sequence {
	var out []sequence
	for i := range r.Sequences {
		if s := &r.Sequences[i]; len(s.Marks) > 0 {
			out = append(out, newSequence(r, s, i))
		}
	}
	return out
}

func newSequence(r *model.Result, s *metrics.Sequence, i int) sequence {
	marks := ordered(s.Marks)
	u := timeUnit(r, marks)
	q := sequence{Title: fmt.Sprintf("connection %d, requests of %s", s.Conn, s.From), Thinned: s.Thinned}
	q.Data = plotData{Name: q.Title, Unit: u.name, Window: window(r, marks) / u.scale,
		Marks: make([][2]columns, len(kindNames))}
	decimals := int(math.Round(math.Log10(u.scale/1e3))) - 1 // a hundredth of a microsecond at most
	var counts [len(kindNames)]int
	for _, m := range marks {
		k := int(m.Kind)
		at := m.At.Sub(r.Timeline.Start)
		counts[k]++
		c := &q.Data.Marks[k]
		c[0] = append(c[0], number{float64(at) / u.scale, max(0, decimals)})
		c[1] = append(c[1], number{float64(m.Offset), 0})
	}
	q.list(r, marks, &counts)
	for k, n := range counts {
		q.Counts = append(q.Counts, model.Fact{Name: kindNames[k], Value: quantity.Count(int64(n))})
	}
	q.Static = drawSequence(r, marks, fmt.Sprintf("s%d", i), q.Title, counts)
	return q
}

// list fills the table of losses, NAKs and retransmissions. If they do not all fit, no retransmission is listed: these
// are the most numerous.
func (q *sequence) list(r *model.Result, marks []metrics.Mark, counts *[len(kindNames)]int) {
	wrong := counts[metrics.LostMark] + counts[metrics.NakMark]
	all := wrong+counts[metrics.SentAgain] <= tableLimit
	for _, m := range marks {
		listed := m.Kind == metrics.LostMark || m.Kind == metrics.NakMark || all && m.Kind == metrics.SentAgain
		if listed && len(q.Rows) < tableLimit {
			q.Rows = append(q.Rows, event{Time: ns(m.At.Sub(r.Timeline.Start)), Offset: signed(m.Offset),
				What: kindNames[m.Kind]})
		}
	}
	q.Left = wrong + counts[metrics.SentAgain] - len(q.Rows)
	q.Empty = len(q.Rows) == 0 && q.Left == 0
}

// ordered returns the marks of known kinds in time order.
func ordered(marks []metrics.Mark) []metrics.Mark {
	out := slices.DeleteFunc(slices.Clone(marks), func(m metrics.Mark) bool { return int(m.Kind) >= len(kindNames) })
	slices.SortStableFunc(out, func(a, b metrics.Mark) int {
		switch {
		case a.At < b.At:
			return -1
		case a.At > b.At:
			return 1
		}
		return 0
	})
	return out
}

func signed(o int64) string {
	if o < 0 {
		return quantity.Count(o)
	}
	return "+" + quantity.Count(o)
}

// end is the time of the last mark.
func end(r *model.Result, marks []metrics.Mark) float64 {
	if len(marks) == 0 {
		return 0
	}
	return float64(marks[len(marks)-1].At.Sub(r.Timeline.Start))
}

// timeUnit picks the unit of the other figure: the largest in which the last mark is at least 1.
func timeUnit(r *model.Result, marks []metrics.Mark) unit {
	for _, u := range timeUnits {
		if end(r, marks) >= u.scale {
			return u
		}
	}
	return timeUnits[len(timeUnits)-2]
}

// window returns the span to show around a loss, in picoseconds: three usual recoveries, or a part of the run.
func window(r *model.Result, marks []metrics.Mark) float64 {
	all := end(r, marks)
	w := 3 * float64(r.RecoveryNs.P50) * float64(vtime.Nanosecond)
	if w <= 0 || w > all/2 {
		w = all / 20
	}
	return w
}

// scene is the content and the size of a drawing of marks.
type scene struct {
	id, class, title string
	width, height    float64
	end              float64 // of the times, in picoseconds from the first packet
	top              int64   // of the offsets
	labels           int     // about as many labels on the X axis
	legend           bool
	xName, yName     string // names of the axes
}

// drawSequence draws the marks of one plot, in the size of a page.
func drawSequence(r *model.Result, marks []metrics.Mark, id, title string, counts [len(kindNames)]int) template.HTML {
	return drawMarks(r, marks, counts, &scene{id: id, class: "static", title: title, width: 960, height: 440,
		end: end(r, marks), top: top(marks), labels: 10, legend: true,
		xName: fromPacket, yName: fromRequest})
}

// The axes of a whole run.
const (
	fromPacket  = "time since the first packet"
	fromRequest = "PSN, counted from the first request"
)

// top is the largest offset.
func top(marks []metrics.Mark) (most int64) {
	for _, m := range marks {
		most = max(most, m.Offset)
	}
	return most
}

// drawMarks draws the marks, one for each pixel.
func drawMarks(r *model.Result, marks []metrics.Mark, counts [len(kindNames)]int, s *scene) template.HTML {
	x := newAxis(s.end, s.labels, false, timeUnits, 64, s.width-14)
	y := newAxis(float64(s.top), 5, true, plainUnit, s.height-44, 34)
	desc := "PSN against time. " + summary(counts)
	c := newCanvas(s.id, s.class, s.width, s.height, "PSN over time, "+s.title, desc)
	c.frame(&x, &y, s.xName, s.yName)
	for _, k := range []metrics.MarkKind{metrics.AckMark, metrics.SentFirst, metrics.SentAgain, metrics.NakMark,
		metrics.LostMark} {
		if d := dots(r, marks, k, &x, &y); d != "" {
			c.path(kindClasses[k], d)
		}
	}
	if s.legend {
		c.legend(x.from+14, y.to+6)
	}
	return c.done()
}

// legend names the kinds of marks, one below the other.
func (c *canvas) legend(x, y float64) {
	for k, name := range kindNames {
		shape := shapes[k]
		if k == int(metrics.SentFirst) {
			shape = "m-3 0h6" // a single dot would be hard to see
		}
		c.path(kindClasses[k], fmt.Sprintf("M%s %s%s", coord(x), coord(y+18*float64(k)), shape))
		c.text("note", "start", x+12, y+4+18*float64(k), name)
	}
}

// shapes are the marks as SVG paths around a point: dot, triangle, cross, dash, square.
var shapes = [...]string{"h1.5", "m0-3.5l3 5.5h-6z", "m-3.5-3.5l7 7m0-7l-7 7", "m-2 0h4", "m-3-3h6v6h-6z"}

// dots is the path of all marks of a kind.
func dots(r *model.Result, marks []metrics.Mark, kind metrics.MarkKind, x, y *axis) string {
	var b strings.Builder
	seen := map[[2]int]bool{}
	for _, m := range marks {
		if m.Kind != kind {
			continue
		}
		px, py := int(x.px(float64(m.At.Sub(r.Timeline.Start)))), int(y.px(float64(m.Offset)))
		if at := [2]int{px, py}; !seen[at] {
			seen[at] = true
			fmt.Fprintf(&b, "M%d %d%s", px, py, shapes[kind])
		}
	}
	return b.String()
}

// summary counts the marks in words.
func summary(counts [len(kindNames)]int) string {
	var parts []string
	for k, n := range counts {
		parts = append(parts, fmt.Sprintf("%s: %d", kindNames[k], n))
	}
	return strings.Join(parts, ", ") + "."
}
