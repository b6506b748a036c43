package terminal

import (
	"fmt"
	"io"

	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Bisection writes the commit that changed something, and the value of each measured commit.
func Bisection(w io.Writer, b *model.Bisection, o Options) error {
	p := &printer{color: o.Color}
	where := fmt.Sprintf("%.12s", plain(b.Last))
	if b.First != b.Last {
		where = fmt.Sprintf("one of %.12s to %.12s", plain(b.First), plain(b.Last))
	}
	fmt.Fprintf(p, "%s  %s\n", p.paint(bold, where), plain(b.Title))
	fmt.Fprintf(p, "changed %s, found with %s among %s\n\n", quantity.Plural(int64(len(b.Series)), "series", "series"),
		quantity.Plural(int64(b.Runs), "run", "runs"), quantity.Plural(int64(b.Commits), "commit", "commits"))
	for i, name := range b.Series {
		if i == failuresShown {
			fmt.Fprintf(p, "  … and %d more\n", len(b.Series)-i)
			break
		}
		fmt.Fprintf(p, "  %s\n", plain(name))
	}
	if len(b.Later) > 0 {
		fmt.Fprintf(p, "a later commit changed %s\n", quantity.Plural(int64(len(b.Later)), "series", "series"))
	}
	p.WriteString("\n")
	t := table{left: 3}
	t.add("COMMIT", "VALUE", "")
	for _, s := range b.Steps {
		t.add(fmt.Sprintf("%.12s", plain(s.Commit)), plain(s.Value), plain(s.Trouble))
	}
	p.table(&t, func(row, _ int, s string) string {
		if row == 0 {
			return p.paint(bold, s)
		}
		return s
	})
	return p.show(w)
}
