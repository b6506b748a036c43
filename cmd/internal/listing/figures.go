package listing

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/rdma-gauntlet/gauntlet/perf/targets"
)

// FigureIDs returns the IDs of all figures.
func FigureIDs() (ids []string) {
	for _, figure := range targets.Figures() {
		ids = append(ids, figure.ID)
	}
	return ids
}

// Figures writes a table of figures.
func Figures(out io.Writer, all []targets.Figure) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, figure := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\n", figure.ID, figure.Source, figure.Title)
	}
	return w.Flush()
}
