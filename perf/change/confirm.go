package change

import (
	"errors"
	"fmt"
	"math"

	"github.com/rdma-gauntlet/gauntlet/perf/history"
	"github.com/rdma-gauntlet/gauntlet/perf/stats"
)

// Confirmation makes runs of two builds alternately: first a few, after which most false suspicions are dropped, then
// rounds of turns runs of each, without the first ones, until the rank test over all rounds decides or no longer
// promises to.
const (
	looks     = 4    // runs of each build, first
	lookLevel = 0.4  // level of the rank test for these, two-sided
	turns     = 12   // runs of each build in a round
	rounds    = 4    // maximum number of rounds
	promising = 0.05 // level that the test must reach for another round
	level     = 5e-5 // level of all rounds together
)

// ErrNotConfirmed is the result of two builds that do not differ as suspected.
var ErrNotConfirmed = errors.New("not confirmed")

// Confirm measures the build before a suspicion and tonight's alternately, so that disturbances of the machine affect
// both, and returns the change, or ErrNotConfirmed. measure makes one run and returns its number; its error ends the
// confirmation.
func Confirm(s *Suspicion, r Rule, measure func(new bool) (float64, error)) (*Change, error) {
	old, now, err := inTurns(looks, measure)
	if err != nil {
		return nil, err
	}
	if !s.agrees(old, now) || stats.RankTest(old, now) > lookLevel {
		return nil, ErrNotConfirmed
	}
	old, now = nil, nil
	for range rounds {
		a, b, err := inTurns(turns, measure)
		if err != nil {
			return nil, err
		}
		old, now = append(old, a...), append(now, b...)
		switch p := stats.RankTest(old, now); {
		case !s.agrees(old, now) || p > promising:
			return nil, ErrNotConfirmed
		case p < level/rounds:
			return s.confirmed(r, old, now, p)
		}
	}
	return nil, ErrNotConfirmed
}

// confirmed returns the change that two samples show, unless it is within the margin.
func (s *Suspicion) confirmed(r Rule, old, now []float64, p float64) (*Change, error) {
	was, is := stats.Median(old), stats.Median(now)
	by := (is - was) / math.Abs(was)
	if math.Abs(by) < r.Margin {
		return nil, ErrNotConfirmed
	}
	x := &Change{Series: s.Series, Host: s.Host, Kind: direction(s.Better, is-was), Before: s.Before, Now: s.Now, P: p}
	x.Before.Value, x.Now.Value = &was, &is
	if was != 0 {
		x.Relative = &stats.Estimate{Value: by, Low: by, High: by, N: len(old) + len(now)}
	}
	return x, nil
}

// agrees reports whether two samples differ in the direction that was suspected.
func (s *Suspicion) agrees(old, now []float64) bool {
	return (stats.Median(now)-stats.Median(old))*s.Score > 0
}

// inTurns makes n measurements of each build in the order old, new, new, old, so that a steady drift affects both
// alike.
func inTurns(n int, measure func(new bool) (float64, error)) (old, now []float64, err error) {
	for i := range 2 * n {
		new := i%4 == 1 || i%4 == 2
		x, err := measure(new)
		switch {
		case err != nil:
			return nil, nil, err
		case math.IsNaN(x) || math.IsInf(x, 0):
			return nil, nil, fmt.Errorf("change: run %d of %d measured %v", i+1, 2*n, x)
		case new:
			now = append(now, x)
		default:
			old = append(old, x)
		}
	}
	return old, now, nil
}

// Alarm returns the form in which a store keeps a confirmed change: the beginning of a level.
func (x *Change) Alarm(since string) history.Alarm {
	a := history.Alarm{Series: x.Name, Host: x.Host, Since: since, Old: x.Before.Commit, New: x.Now.Commit, P: x.P}
	if x.Relative != nil {
		a.Relative = x.Relative.Value
	}
	return a
}
