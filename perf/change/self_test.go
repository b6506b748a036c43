package change

import (
	"testing"

	"github.com/rdma-gauntlet/gauntlet/perf/history"
)

// A commit beside itself is counted by class, and a difference is a false alarm; other commits, gaps and other Specs
// are not comparisons.
func TestOfSelf(t *testing.T) {
	point := func(class history.Class, spec string, values ...float64) history.Point {
		return history.Point{Series: history.Series{Name: "x " + string(class), Bench: "sim", Class: class}, Spec: spec,
			Values: values}
	}
	night := func(day, commit string, points ...history.Point) history.Night {
		return history.Night{Header: history.Header{Night: day, Started: day + "T00:00:00Z", Commit: commit}, Points: points}
	}
	nights := []history.Night{
		night("2026-01-01", "a", point(history.Exact, "s", 1), point(history.Noisy, "s", 1)),
		night("2026-01-02", "a", point(history.Exact, "s", 1), point(history.Noisy, "s", 2)),
		night("2026-01-03", "a", point(history.Exact, "s", 2), point(history.Noisy, "s")),
		night("2026-01-04", "b", point(history.Exact, "s", 3), point(history.Noisy, "s", 2)),
		night("2026-01-05", "b", point(history.Exact, "other", 4), point(history.Noisy, "s", 2)),
	}
	s := OfSelf(nights, history.Tracks(nights))
	if s[history.Exact] != (Self{2, 1}) || s[history.Noisy] != (Self{2, 0}) || s[history.Paired] != (Self{}) ||
		s.All() != (Self{4, 1}) {
		t.Errorf("%+v", s)
	}
}
