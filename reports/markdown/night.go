package markdown

import (
	"bytes"
	"cmp"
	"fmt"
	"io"

	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/perf/change"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Night writes the page of a night: one sentence, the changes with their causes, the failures, and the steps that were
// not run.
func Night(w io.Writer, n *model.Night) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "### Night %s: %s\n\nGauntlet %s of %s on %s: %s\n\n", escape(n.Header.Night), escape(n.Status),
		escape(n.Header.Version), code(cmp.Or(n.Commit, "an unknown commit")), code(n.Host), escape(n.Sentence()))
	for i := range n.Changes.Entries {
		entry(&b, &n.Changes.Entries[i])
	}
	for _, s := range n.Changes.Suspected {
		fmt.Fprintf(&b, "- %s is suspected since %s; one night is no change\n", code(s.Name), escape(s.Since))
	}
	failing(&b, n)
	steps(&b, n)
	for _, note := range n.Notes {
		fmt.Fprintf(&b, "- %s\n", escape(note))
	}
	if n.Command != "" {
		fmt.Fprintf(&b, "\nRun it again:\n\n%s\n", fenced(n.Command))
	}
	_, err := io.WriteString(w, quote.Text(b.String()))
	return err
}

// entry writes the table of the changes of one cause.
func entry(b *bytes.Buffer, e *change.Entry) {
	if e.Segment != "" {
		fmt.Fprintf(b, "- new segment: %s, %s\n", escape(e.Segment),
			quantity.Plural(int64(len(e.Series)), "series", "series"))
		return
	}
	fmt.Fprintf(b, "%s → %s", code(cmp.Or(e.Before, "?")), code(cmp.Or(e.Now, "?")))
	if e.Commit != "" {
		fmt.Fprintf(b, ", by %s %s", code(e.Commit), escape(e.Title))
	}
	b.WriteString("\n\n| change | series | |\n|:--|:--|:--|\n")
	for i := range e.Changes {
		if i == changesShown {
			fmt.Fprintf(b, "| … | and %d more | |\n", len(e.Changes)-i)
			break
		}
		x := &e.Changes[i]
		fmt.Fprintf(b, "| **%s** | %s | %s |\n", escape(string(x.Kind)), code(x.Name), escape(model.FromTo(x)))
	}
	b.WriteString("\n")
}

// failing is the table of failures, also of those that are not new.
func failing(b *bytes.Buffer, n *model.Night) {
	if len(n.Failing) == 0 {
		return
	}
	b.WriteString("\n| failing tonight | | run |\n|:--|:--|:--|\n")
	for i, f := range n.Failing {
		if i == changesShown {
			fmt.Fprintf(b, "| … and %d more | | |\n", len(n.Failing)-i)
			break
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", code(f.Series), escape(f.Word), code(f.Run))
	}
}

// steps writes the table of steps, run or not.
func steps(b *bytes.Buffer, n *model.Night) {
	if len(n.Steps) == 0 {
		return
	}
	b.WriteString("\n| command | points | gaps | time | |\n|:--|--:|--:|--:|:--|\n")
	for i := range n.Steps {
		s := &n.Steps[i]
		fmt.Fprintf(b, "| %s | %d | %d | %.1f s | %s |\n", code(s.Command), s.Points, s.Gaps, s.Wall,
			escape(cmp.Or(s.Trouble, s.Left)))
	}
	b.WriteString("\n")
}
