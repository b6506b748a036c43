package points

import (
	"io"
	"strings"

	"golang.org/x/perf/benchfmt"

	"github.com/rdma-gauntlet/gauntlet/perf/history"
)

// GoBench writes every value in Go's benchmark format, so that benchstat compares nights, commits and hosts:
//
//	commit: 0123456789ab
//	BenchmarkMatrix_irn_random_goodput 1 9.1e+09 bit/s
//
// Verdicts have no place in it.
func GoBench(w io.Writer, tracks []history.Track) error {
	out := benchfmt.NewWriter(w)
	for i := range tracks {
		for k := range tracks[i].Entries {
			e := &tracks[i].Entries[k]
			for _, v := range e.Values {
				r := &benchfmt.Result{
					Name:   benchfmt.Name(benchmark(e.Name)),
					Iters:  1,
					Values: []benchfmt.Value{{Value: v, Unit: unit(e.Unit)}},
				}
				for _, c := range configuration(e) {
					r.Config = append(r.Config, benchfmt.Config{Key: c[0], Value: []byte(c[1]), File: true})
				}
				if err := out.Write(r); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// configuration is what benchstat can tell nights apart by.
func configuration(e *history.Entry) [][2]string {
	return [][2]string{{"night", e.Night}, {"commit", e.Commit}, {"host", e.Host}, {"kernel", e.Kernel},
		{"bench", e.Bench}}
}

// benchmark is a series as the name of a benchmark, which has no blanks and does not begin in lower case behind
// "Benchmark".
func benchmark(series string) string {
	s := strings.Join(strings.Fields(series), "_")
	if s == "" {
		return "_"
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// unit is a unit in one word; what is counted has the name that Go's format asks for.
func unit(s string) string {
	if s = strings.Join(strings.Fields(s), "_"); s == "" {
		return "count"
	}
	return s
}

// Select keeps the tracks whose series a filter wants, and of them the points of nights from since on.
func Select(tracks []history.Track, wanted func(string) bool, since string) (out []history.Track) {
	for _, t := range tracks {
		first := 0
		for first < len(t.Entries) && t.Entries[first].Night < since {
			first++
		}
		if t.Entries = t.Entries[first:]; len(t.Entries) > 0 && wanted(t.Name) {
			out = append(out, t)
		}
	}
	return out
}
