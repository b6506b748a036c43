package claims

import (
	"io"
	"strings"

	"golang.org/x/perf/benchfmt"

	"github.com/rdma-gauntlet/gauntlet/perf/suite"
)

// GoBench writes every number in Go's benchmark format, a line for each seed, so that benchstat compares two files of
// them:
//
//	BenchmarkPT-LW-05/40_ms/goodput_ratio 1 1.25 ratio
func GoBench(w io.Writer, m *suite.Result) error {
	out := benchfmt.NewWriter(w)
	for i := range m.Claims {
		for k := range m.Claims[i].Measured {
			x := &m.Claims[i].Measured[k]
			unit := x.Unit
			if unit == "" {
				unit = "ratio"
			}
			name := word(strings.Join([]string{m.Claims[i].ID, x.Name, x.Metric}, "/"))
			for _, v := range x.Values {
				r := &benchfmt.Result{Name: benchfmt.Name(name), Iters: 1,
					Values: []benchfmt.Value{{Value: v, Unit: unit}}}
				r.SetConfig("version", m.Version)
				if err := out.Write(r); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// word converts a title to the name of a benchmark, which ends at the first blank.
func word(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, " / ", "/"), " ", "_")
}
