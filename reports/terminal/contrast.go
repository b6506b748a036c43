package terminal

import (
	"fmt"
	"io"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/perf/datasheet"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Contrast writes a device and an engine side by side: the numbers, their explanation from the captures, and the runs
// that did not pass.
func Contrast(w io.Writer, m *model.Contrast, o Options) error {
	p := &printer{color: o.Color}
	a, b := plain(m.Impls[0]), plain(m.Impls[1])
	fmt.Fprintf(p, "%s  %s beside %s, %s, over the netem of kernel %s, seed %d\n%s\n\n",
		p.paint(bold+";"+tone(m.Status), m.Status), a, b,
		quantity.Plural(int64(len(m.Rows)), "link", "links"), plain(m.Kernel), m.Seed, plain(m.Conditions))
	numbers, why := table{left: 0}, table{left: 3}
	numbers.add("RTT", "LOSS", "GOODPUT "+a, b, "RATIO", "FCT "+a, b, "RATIO", "FCT 99 % "+a, b)
	why.add("RTT", "LOSS", "WHO", "LINE", "AGAIN", "TIMER", "IDLE", "LOST", "NAKS", "BACK", "TIMEOUTS",
		"WINDOW", "ACKREQ")
	for i := range m.Rows {
		r := &m.Rows[i]
		numbers.add(contrastNumbers(r)...)
		for side := range r.Sides {
			why.add(contrastWhy(m, r, side)...)
		}
	}
	head := func(row, _ int, s string) string {
		if row == 0 {
			return p.paint(bold, s)
		}
		return s
	}
	p.table(&numbers, head)
	fmt.Fprintf(p, "\nwhy, read off the captures of the runs for goodput:\n")
	p.table(&why, head)
	p.WriteString(contrastLegend)
	p.contrastTroubles(m)
	return p.show(w)
}

// contrastLegend explains the columns of the second table.
const contrastLegend = `
LINE, AGAIN, TIMER, IDLE: shares of the time in which the line carried new payload, carried what had
been sent before, was silent until a timer fired, and the rest (round trips, a full window).
BACK: packets sent again for a NAK, median. TIMEOUTS: how many, and their median. WINDOW: the most
packets sent and not acknowledged. ACKREQ: packets from one AckReq to the next, median.
`

// contrastNumbers returns a line of the first table.
func contrastNumbers(r *model.ContrastRow) []string {
	out := []string{quantity.Duration(r.RTTNs), lossOf(r), quantity.Rate(r.Sides[0].Stream.GoodputBps),
		quantity.Rate(r.Sides[1].Stream.GoodputBps),
		fmt.Sprintf("%.2f", r.GoodputRatio())}
	a, b := &r.Sides[0].Single.FCT, &r.Sides[1].Single.FCT
	return append(out, quantity.Duration(a.Mean), quantity.Duration(b.Mean), fmt.Sprintf("%.2f", r.FCTRatio()),
		quantity.Duration(a.P99), quantity.Duration(b.P99))
}

func lossOf(r *model.ContrastRow) string {
	return fmt.Sprintf("%g", r.Loss)
}

// contrastWhy returns a line of the second table.
func contrastWhy(m *model.Contrast, r *model.ContrastRow, side int) []string {
	run := &r.Sides[side].Stream
	why, s := &run.Reasons, run.Shares(m.Rate)
	percent := func(x float64) string { return fmt.Sprintf("%.0f %%", 100*x) }
	return []string{quantity.Duration(r.RTTNs), lossOf(r), cut(plain(m.Impls[side]), 9), percent(s.Useful),
		percent(s.Again), percent(s.Timeout), percent(s.Other),
		quantity.Count(run.Lost), quantity.Count(run.NAKs), median(&why.GoneBack, quantity.Count),
		timeouts(&why.Timeouts),
		fmt.Sprint(why.Window.Most), median(&why.AckReqEvery, quantity.Count)}
}

func median(r *datasheet.Range, text func(int64) string) string {
	if r.Seen == 0 {
		return "–"
	}
	return text(r.Median)
}

func timeouts(r *datasheet.Range) string {
	if r.Seen == 0 {
		return "0"
	}
	return fmt.Sprintf("%d × %s", r.Seen, quantity.Duration(r.Median))
}

// contrastTroubles names the runs that did not pass.
func (p *printer) contrastTroubles(m *model.Contrast) {
	for i := range m.Rows {
		r := &m.Rows[i]
		for side := range r.Sides {
			for _, single := range []bool{false, true} {
				run := r.Sides[side].Of(single)
				if run.Status == "PASS" {
					continue
				}
				fmt.Fprintf(p, "\n%s %s, RTT %s, loss %s: %s\n", p.paint(bold+";"+tone(run.Status), run.Status),
					plain(m.Impls[side]), quantity.Duration(r.RTTNs), lossOf(r),
					plain(strings.TrimSpace(run.Reason+" "+strings.Join(run.Broken, " ")+" "+run.Note(run.Status))))
			}
		}
	}
}
