package terminal

import (
	"fmt"
	"io"
	"strconv"

	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/perf/atlas"
)

// lasted states the duration of a result, unless it is unknown, as for results of several machines together.
func lasted(text string, seconds float64) string {
	if seconds == 0 {
		return ""
	}
	return ", in " + text
}

// Atlas writes a line for each link: the pick, its share of the line, and its lead.
func Atlas(w io.Writer, m *atlas.Map, o Options) error {
	p := &printer{color: o.Color}
	fmt.Fprintf(p, "%s, %s in virtual time, %s%s\n\n", quantity.Plural(int64(len(m.Cells)), "link", "links"),
		quantity.Plural(int64(m.Runs), "run", "runs"), quantity.Plural(int64(m.Seeds), "seed", "seeds"),
		lasted(quantity.Duration(int64(m.Wall*1e9)), m.Wall))
	t := table{left: 0}
	t.add("RATE", "RTT", "LOSS", "BURST", "TAKE", "OF LINE", "BEST OVER NEXT")
	for i := range m.Cells {
		c := &m.Cells[i]
		if i > 0 && (c.RTTNs != m.Cells[i-1].RTTNs || c.Burst != m.Cells[i-1].Burst) {
			t.add()
		}
		take, share := c.Pick, ""
		if e := c.Entry(c.Pick); e != nil {
			share = quantity.Share(e.Share.Value)
		}
		verdict := c.Verdict()
		if c.Trouble != "" {
			take, verdict = "–", plain(c.Trouble)
		}
		t.add(quantity.Rate(c.RateBps), quantity.Duration(c.RTTNs), quantity.Share(c.Loss), strconv.Itoa(c.Burst),
			take, share, verdict)
	}
	p.table(&t, func(row, column int, s string) string {
		if row == 0 || column == 4 {
			return p.paint(bold, s)
		}
		return s
	})
	if left := m.Left(); left > 0 {
		fmt.Fprintf(p, "\n%d of %s have no answer\n", left, quantity.Plural(int64(len(m.Cells)), "link", "links"))
	}
	return p.show(w)
}
