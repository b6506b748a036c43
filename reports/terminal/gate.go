package terminal

import (
	"fmt"
	"io"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// changesShown bounds the list of changes.
const changesShown = 20

// Gate writes the verdict with its reasons, the stages with the runs that were left out, and the changes since the
// baseline.
func Gate(w io.Writer, g *model.Gate, o Options) error {
	p := &printer{color: o.Color}
	with := ""
	if g.Peer != g.Subject {
		with = " with " + plain(g.Peer)
	}
	fmt.Fprintf(p, "%s  gate of %s%s\n", p.paint(bold+";"+tone(g.Status), plain(g.Status)), plain(g.Subject), with)
	for i, r := range g.Reasons {
		if i == failuresShown {
			fmt.Fprintf(p, "  … and %d more\n", len(g.Reasons)-i)
			break
		}
		fmt.Fprintf(p, "  %s\n", plain(r))
	}
	p.WriteString("\n")
	t := table{left: 2}
	t.add("STAGE", "", "RUNS", "RULES", "NUMBERS", "TIME")
	for i := range g.Stages {
		s := &g.Stages[i]
		t.add(
			plain(s.Title()),
			plain(s.Status),
			quantity.Count(int64(len(s.Runs))),
			quantity.Count(int64(s.Judged())),
			quantity.Count(int64(s.Measured())),
			fmt.Sprintf("%.1f s", s.Wall),
		)
	}
	p.table(&t, func(row, column int, s string) string {
		switch {
		case row == 0:
			return p.paint(bold, s)
		case column == 1:
			return p.paint(tone(strings.TrimSpace(s)), s)
		}
		return s
	})
	p.left(g)
	p.changes(g)
	if l := g.Ladder; l != nil {
		fmt.Fprintf(
			p,
			"\n%s in %s, %s:\n%s\n",
			plain(l.Rule),
			plain(l.Run),
			plain(l.Stage),
			strings.TrimRight(l.Text, "\n"),
		)
	}
	fmt.Fprintf(p, "\nreport: %s\n", plain(g.Folder))
	return p.show(w)
}

// left writes the runs that were left out, and the failures that were repeated.
func (p *printer) left(g *model.Gate) {
	for i := range g.Stages {
		s := &g.Stages[i]
		if len(s.Left) > 0 {
			fmt.Fprintf(
				p,
				"left out of %s: %d of %d, because %s\n",
				plain(s.Title()),
				len(s.Left),
				len(s.Left)+len(s.Runs)+s.Measured(),
				plain(s.Why),
			)
		}
		for k := range s.Runs {
			if again := s.Runs[k].Repeated(); again != "" {
				fmt.Fprintf(p, "%s %s\n", plain(s.Runs[k].Name), plain(again))
			}
		}
	}
}

// changes writes the changes since the baseline, if there are any.
func (p *printer) changes(g *model.Gate) {
	if b := g.Baseline; b != nil && b.Version != g.Version && len(g.Changes) > 0 {
		fmt.Fprintf(p, "\nthe baseline is of gauntlet %s, this gate of %s\n", plain(b.Version), plain(g.Version))
	}
	if len(g.Changes) > 0 {
		fmt.Fprintf(p, "\nsince the baseline:\n")
	}
	for i, c := range g.Changes {
		if i == changesShown {
			fmt.Fprintf(p, "  … and %d more\n", len(g.Changes)-i)
			break
		}
		fmt.Fprintf(
			p,
			"  %s  %s, %s: %s\n",
			p.paint(bold, plain(string(c.Kind))),
			plain(c.Stage),
			plain(c.What),
			plain(c.Text),
		)
	}
}
