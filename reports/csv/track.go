package csv

import (
	"fmt"
	"io"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/perf/history"
)

// Tracks writes a line for each point. Of several values or seeds there is a list with spaces; a gap has neither value
// nor verdict.
func Tracks(w io.Writer, tracks []history.Track) error {
	rows := [][]string{{"night", "started", "series", "bench", "class", "unit", "better", "value", "verdict", "status", "values", "reference",
		"seeds", "spec", "commit", "version", "host", "kernel", "firmware", "run"}}
	for i := range tracks {
		for k := range tracks[i].Entries {
			e := &tracks[i].Entries[k]
			value := ""
			if len(e.Values) > 0 {
				value = number(e.Value())
			}
			rows = append(rows, []string{e.Night, e.Started, e.Name, e.Bench, string(e.Class), e.Unit, string(e.Better), value, e.Word, e.Status,
				list(e.Values), list(e.Reference), list(e.Seeds), e.Spec, e.Commit, e.Version, e.Host, e.Kernel, e.Firmware, e.Run})
		}
	}
	return write(w, rows)
}

// list is some numbers with spaces between them.
func list[T float64 | uint64](values []T) string { return strings.Trim(fmt.Sprint(values), "[]") }
