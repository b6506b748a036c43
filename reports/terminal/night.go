package terminal

import (
	"cmp"
	"fmt"
	"io"

	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/perf/change"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Night writes the changes of a night, and the number of unchanged series.
func Night(w io.Writer, n *model.Night, o Options) error {
	p := &printer{color: o.Color}
	fmt.Fprintf(p, "%s  night %s of %s on %s: %s\n", p.paint(bold+";"+tone(n.Status), plain(n.Status)),
		plain(n.Header.Night),
		plain(cmp.Or(fmt.Sprintf("%.12s", n.Commit), "an unknown commit")), plain(n.Host), n.Sentence())
	for i := range n.Changes.Entries {
		nightEntry(p, &n.Changes.Entries[i])
	}
	for _, s := range n.Changes.Suspected {
		fmt.Fprintf(p, "\nsuspected since %s: %s on %s, one night is no change\n", plain(s.Since),
			plain(s.Name), plain(s.Host))
	}
	nightFailures(p, n)
	for i := range n.Steps {
		s := &n.Steps[i]
		switch {
		case s.Trouble != "":
			fmt.Fprintf(p, "no result of %s: %s\n", plain(s.Command), plain(s.Trouble))
		case s.Left != "":
			fmt.Fprintf(p, "left out %s: %s\n", plain(s.Command), plain(s.Left))
		case s.Gaps > 0:
			fmt.Fprintf(p, "gaps of %s: %d of %d\n", plain(s.Command), s.Gaps, s.Points)
		}
	}
	for _, note := range n.Notes {
		fmt.Fprintf(p, "%s\n", plain(note))
	}
	for _, class := range change.Classes {
		if of := n.Selves[class]; of.Compared > 0 {
			fmt.Fprintf(p, "a/a of %s numbers: %d of %d comparisons of a commit with itself were called changed\n", class,
				of.Alarms, of.Compared)
		}
	}
	if n.Folder != "" {
		fmt.Fprintf(p, "store: %s\nreport: %s\n", plain(cmp.Or(n.File, "nothing added")), plain(n.Folder))
	}
	return p.show(w)
}

// nightEntry writes the changes of one cause.
func nightEntry(p *printer, e *change.Entry) {
	if e.Segment != "" {
		fmt.Fprintf(p, "\nnew segment: %s, %s\n", plain(e.Segment),
			quantity.Plural(int64(len(e.Series)), "series", "series"))
		return
	}
	fmt.Fprintf(p, "\n%.12s → %.12s: %s\n", plain(cmp.Or(e.Before, "?")), plain(cmp.Or(e.Now, "?")),
		quantity.Plural(int64(len(e.Changes)), "change", "changes"))
	if e.Commit != "" {
		fmt.Fprintf(p, "  by %.12s %s\n", plain(e.Commit), plain(e.Title))
	}
	for i := range e.Changes {
		if i == changesShown {
			fmt.Fprintf(p, "  … and %d more\n", len(e.Changes)-i)
			break
		}
		x := &e.Changes[i]
		fmt.Fprintf(p, "  %s  %s: %s\n", p.paint(kindTone(x.Kind), plain(string(x.Kind))), plain(x.Name),
			plain(model.FromTo(x)))
	}
}

// kindTone returns the colour of a change.
func kindTone(k change.Kind) string {
	switch {
	case k.Worse():
		return red
	case k == change.Fixed, k == change.Improved:
		return green
	}
	return yellow
}

// nightFailures writes the failures, also those that are not new.
func nightFailures(p *printer, n *model.Night) {
	if len(n.Failing) > 0 {
		fmt.Fprintf(p, "\nfailing tonight:\n")
	}
	for i, f := range n.Failing {
		if i == failuresShown {
			fmt.Fprintf(p, "  … and %d more\n", len(n.Failing)-i)
			break
		}
		fmt.Fprintf(p, "  %s: %s\n", plain(f.Series), plain(f.Word))
	}
}
