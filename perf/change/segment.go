package change

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/perf/history"
)

// hosts records which noisy series any host had measured before tonight.
func (c *comparing) hosts(tracks []history.Track, night string) {
	c.elsewhere = map[string]bool{}
	for i := range tracks {
		if t := &tracks[i]; t.Host != "" && t.Entries[0].Night < night {
			c.elsewhere[t.Name] = true
		}
	}
}

// begins records an entry that cannot be compared: the first of its series, or of a segment.
func (c *comparing) begins(t *history.Track, i int) {
	now := &t.Entries[i]
	for k := i - 1; k >= 0; k-- {
		if !t.Entries[k].Gap() {
			c.segment(t.Name, differences(&t.Entries[k], now))
			return
		}
	}
	if t.Host != "" && c.elsewhere[t.Name] {
		c.segment(t.Name, "new host "+t.Host)
		return
	}
	c.report.First++
}

// differences describes the conditions that differ from those before.
func differences(before, now *history.Entry) string {
	var parts []string
	old := before.Conditions()
	for i, is := range now.Conditions() {
		switch was := old[i]; {
		case was == is:
		case is[0] == "Spec":
			parts = append(parts, "another Spec")
		default:
			parts = append(parts, fmt.Sprintf("%s %s → %s", is[0], named(was[1]), named(is[1])))
		}
	}
	text := strings.Join(parts, ", ")
	if now.Class == history.Noisy {
		text += " on " + now.Host
	}
	return text
}

// named returns a condition for display.
func named(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// segment adds a series to the entry of a segment.
func (c *comparing) segment(series, what string) {
	list := &c.report.Entries
	i := slices.IndexFunc(*list, func(e Entry) bool { return e.Segment == what })
	if i < 0 {
		i = len(*list)
		*list = append(*list, Entry{Segment: what})
	}
	(*list)[i].Series = append((*list)[i].Series, series)
}
