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
// Verdicts have no numbers, so they are left out.
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

// configuration returns the keys by which benchstat can group values.
func configuration(e *history.Entry) [][2]string {
	return [][2]string{{"night", e.Night}, {"commit", e.Commit}, {"host", e.Host}, {"kernel", e.Kernel},
		{"bench", e.Bench}}
}

// benchmark converts the name of a series to the name of a benchmark: without blanks, and with an upper-case letter
// after "Benchmark".
func benchmark(series string) string {
	s := strings.Join(strings.Fields(series), "_")
	if s == "" {
		return "_"
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// unit converts a unit to one word; numbers without a unit have "count", because Go's format requires one.
func unit(s string) string {
	if s = strings.Join(strings.Fields(s), "_"); s == "" {
		return "count"
	}
	return s
}

// Select keeps the tracks whose series wanted accepts, and of those the points from the night since on.
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
