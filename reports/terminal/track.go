package terminal

import (
	"fmt"
	"io"

	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Tracks writes a line for each series of a store.
func Tracks(w io.Writer, m *model.Tracks, o Options) error {
	p := &printer{color: o.Color}
	t := table{left: 1}
	t.add("SERIES", "CLASS", "BENCH", "HOST", "POINTS", "GAPS", "SEGMENTS", "FIRST", "LAST", "VALUE")
	for i := range m.Series {
		r := &m.Series[i]
		value := plain(r.Word)
		if r.Value != nil {
			value = quantity.Value(*r.Value, r.Unit)
		}
		t.add(plain(r.Name), plain(string(r.Class)), plain(r.Bench), plain(r.Host), quantity.Count(int64(r.Points)),
			quantity.Count(int64(r.Gaps)), quantity.Count(int64(r.Segments)), plain(r.First), plain(r.Last), value)
	}
	p.table(&t, func(row, _ int, s string) string {
		if row == 0 {
			return p.paint(bold, s)
		}
		return s
	})
	fmt.Fprintf(p, "\n%s of %s in %s\n", quantity.Plural(int64(len(m.Series)), "series", "series"),
		quantity.Plural(int64(m.Nights), "night and host", "nights and hosts"), plain(m.Store))
	return p.show(w)
}
