package csv

import (
	"fmt"
	"io"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/perf/history"
)

// trackColumns are the names of the columns of Tracks.
const trackColumns = "night started series bench class unit better value verdict status values reference seeds spec " +
	"commit version host kernel firmware run"

// Tracks writes a line for each point. Of several values or seeds there is a list with spaces; a gap has neither value
// nor verdict.
func Tracks(w io.Writer, tracks []history.Track) error {
	rows := [][]string{strings.Fields(trackColumns)}
	for i := range tracks {
		for k := range tracks[i].Entries {
			rows = append(rows, point(&tracks[i].Entries[k]))
		}
	}
	return write(w, rows)
}

// point is the row of a point.
func point(e *history.Entry) []string {
	value := ""
	if len(e.Values) > 0 {
		value = number(e.Value())
	}
	row := []string{e.Night, e.Started, e.Name, e.Bench, string(e.Class), e.Unit, string(e.Better),
		value, e.Word, e.Status}
	row = append(row, list(e.Values), list(e.Reference), list(e.Seeds), e.Spec)
	return append(row, e.Commit, e.Version, e.Host, e.Kernel, e.Firmware, e.Run)
}

// list is some numbers with spaces between them.
func list[T float64 | uint64](values []T) string { return strings.Trim(fmt.Sprint(values), "[]") }
