package markdown

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Bounds of the summary of a gate: GitHub shows 1 MiB of a step's summary, more than a reader takes in.
const (
	changesShown = 20
	reasonsShown = 10
	leftShown    = 40
)

// Gate writes the summary of a gate for a pull request: the verdict, the table of stages, the changes, the rules that
// are broken and the ladder of the first finding.
func Gate(w io.Writer, g *model.Gate) error {
	var b bytes.Buffer
	with := ""
	if g.Peer != g.Subject {
		with = " with " + code(g.Peer)
	}
	fmt.Fprintf(&b, "### %s: gate of %s%s\n\n", escape(g.Status), code(g.Subject), with)
	changed(&b, g)
	brokenRules(&b, g)
	if l := g.Ladder; l != nil {
		fmt.Fprintf(
			&b,
			"The first finding, %s in %s (%s):\n\n%s\n",
			code(l.Rule),
			code(l.Run),
			escape(l.Stage),
			fenced(l.Text),
		)
	}
	stages(&b, g)
	leftOut(&b, g)
	why(&b, g)
	if g.Command != "" {
		fmt.Fprintf(&b, "Run it again:\n\n%s\n", fenced(g.Command))
	}
	_, err := io.WriteString(w, quote.Text(b.String()))
	return err
}

// changed is the table of changes; nothing when there are none.
func changed(b *bytes.Buffer, g *model.Gate) {
	if len(g.Changes) == 0 {
		return
	}
	fmt.Fprintf(b, "Since the baseline (%s):\n\n| change | what | |\n|:--|:--|:--|\n", escape(origin(g)))
	for i, c := range g.Changes {
		if i == changesShown {
			fmt.Fprintf(b, "| … | and %d more | |\n", len(g.Changes)-i)
			break
		}
		fmt.Fprintf(
			b,
			"| **%s** | %s | %s: %s |\n",
			escape(string(c.Kind)),
			code(c.What),
			escape(c.Stage),
			escape(c.Text),
		)
	}
	b.WriteString("\n")
}

// origin states the source of the baseline, and its version of the tool if that differs.
func origin(g *model.Gate) string {
	if g.Baseline == nil {
		return "–"
	}
	if g.Baseline.Version != g.Version {
		return g.Baseline.Started + ", by gauntlet " + g.Baseline.Version + " where this is " + g.Version
	}
	return g.Baseline.Started
}

// brokenRules is the table of rules that are broken.
func brokenRules(b *bytes.Buffer, g *model.Gate) {
	list := g.Broken()
	if len(list) == 0 {
		return
	}
	b.WriteString("| rule | | finding | scenarios |\n|:--|:--|:--|:--|\n")
	for i := range list {
		r := &list[i]
		if i == failuresShown {
			fmt.Fprintf(b, "| … | | and %d more | |\n", len(list)-i)
			break
		}
		names := r.Broken[:min(3, len(r.Broken))]
		more := ""
		if n := len(r.Broken) - len(names); n > 0 {
			more = fmt.Sprintf(" and %d more", n)
		}
		fmt.Fprintf(
			b,
			"| %s | %s | %s: %s | %s%s |\n",
			code(r.Rule),
			escape(r.Status),
			escape(r.Title),
			escape(cmp.Or(r.Finding, r.Reason)),
			escape(strings.Join(names, ", ")),
			more,
		)
	}
	b.WriteString("\n")
}

// stages writes the table of the stages that were run.
func stages(b *bytes.Buffer, g *model.Gate) {
	b.WriteString("| stage | verdict | runs | rules | numbers | time |\n|:--|:--|--:|--:|--:|--:|\n")
	for i := range g.Stages {
		s := &g.Stages[i]
		fmt.Fprintf(
			b,
			"| %s | %s | %s | %s | %s | %.1f s |\n",
			escape(s.Title()),
			escape(s.Status),
			quantity.Count(int64(len(s.Runs))),
			quantity.Count(int64(s.Judged())),
			quantity.Count(int64(s.Measured())),
			s.Wall,
		)
	}
	b.WriteString("\n")
}

// leftOut lists the runs that were left out with the reason, the failures that were repeated, and the waivers that were
// used.
func leftOut(b *bytes.Buffer, g *model.Gate) {
	for i := range g.Stages {
		s := &g.Stages[i]
		if n := len(s.Left); n > 0 {
			names, more := escape(strings.Join(s.Left[:min(n, leftShown)], ", ")), ""
			if n > leftShown {
				more = fmt.Sprintf(", and %d more", n-leftShown)
			}
			fmt.Fprintf(b, "<details><summary>%d left out of %s: %s</summary>\n\n%s%s\n</details>\n\n",
				n, escape(s.Title()), escape(s.Why), names, more)
		}
		for k := range s.Runs {
			if again := s.Runs[k].Repeated(); again != "" {
				fmt.Fprintf(b, "- %s is %s\n\n", code(s.Runs[k].Name), escape(again))
			}
		}
	}
	for _, w := range g.Waivers {
		fmt.Fprintf(
			b,
			"- waiver of %s for %s, %s until %s: %s, %s\n",
			code(w.Rule),
			code(w.Impl),
			escape(w.Owner),
			escape(w.Expires),
			escape(w.Status),
			escape(w.Reason),
		)
	}
	if len(g.Waivers) > 0 {
		b.WriteString("\n")
	}
}

// why lists the reasons of the verdict, folded: the tables above have most of it.
func why(b *bytes.Buffer, g *model.Gate) {
	if len(g.Reasons) == 0 {
		return
	}
	fmt.Fprintf(b, "<details><summary>why %s</summary>\n\n", escape(g.Status))
	for i, r := range g.Reasons {
		if i == reasonsShown {
			fmt.Fprintf(b, "- and %d more\n", len(g.Reasons)-i)
			break
		}
		fmt.Fprintf(b, "- %s\n", escape(r))
	}
	b.WriteString("\n</details>\n\n")
}
