package change

import (
	"errors"
	"fmt"
	"math"

	"github.com/rdma-gauntlet/gauntlet/perf/history"
	"github.com/rdma-gauntlet/gauntlet/perf/stats"
)

// Confirmation takes runs of two builds in turns: first a few, which most false suspicions do not survive, then twelve
// of each at a time, other ones, until the rank test of all of these decides or they no longer promise to.
const (
	looks     = 4    // runs of each
	lookLevel = 0.4  // of the rank test, two-sided
	turns     = 12   // runs of each in a round
	rounds    = 4    // at most
	promising = 0.05 // what the test has to come to for another round
	level     = 5e-5 // of all rounds together
)

// ErrNotConfirmed says that two builds do not differ as was suspected.
var ErrNotConfirmed = errors.New("not confirmed")

// Confirm measures the build before a suspicion and tonight's in turns, so that whatever the machine does to one it
// does to the other, and returns the change, or ErrNotConfirmed. Measure makes one run and returns its number; its
// error ends the confirmation.
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

// confirmed is the change that two samples show, unless it does not matter.
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

// inTurns measures n times each: old, new, new, old, and so on, which a steady drift does not favour.
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

// Alarm is a confirmed change as a store keeps it: a level begins.
func (x *Change) Alarm(since string) history.Alarm {
	a := history.Alarm{Series: x.Name, Host: x.Host, Since: since, Old: x.Before.Commit, New: x.Now.Commit, P: x.P}
	if x.Relative != nil {
		a.Relative = x.Relative.Value
	}
	return a
}
