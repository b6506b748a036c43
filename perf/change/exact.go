package change

import (
	"math"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/perf/history"
	"github.com/rdma-gauntlet/gauntlet/perf/stats"
)

// exact returns the change of a number or verdict without random part.
func exact(t *history.Track, before, now *history.Entry) Change {
	x := between(t, before, now)
	if now.Word != "" || before.Word != "" {
		x.Kind = verdicts(before.Word, now.Word)
	} else {
		old, new := before.Value(), now.Value()
		x.Kind = direction(t.Better, new-old)
		if old != 0 {
			by := (new - old) / math.Abs(old)
			x.Relative = &stats.Estimate{Value: by, Low: by, High: by, Confidence: 1, N: 1}
		}
	}
	if before.Commit == now.Commit && now.Commit != "" && !strings.Contains(now.Commit, "+") {
		x.Kind = Unstable
	}
	return x
}

// between returns a change without kind.
func between(t *history.Track, before, now *history.Entry) Change {
	return Change{Series: now.Point.Series, Host: t.Host, Before: side(before), Now: side(now)}
}

// side returns the side of a change that an entry gives.
func side(e *history.Entry) Side {
	s := Side{Night: e.Night, Commit: e.Commit, Word: e.Word, Run: e.Run}
	if v := e.Value(); e.Word == "" && !math.IsNaN(v) {
		s.Value = &v
	}
	return s
}

// direction returns the kind of a difference.
func direction(better history.Better, by float64) Kind {
	switch {
	case better == "" || by == 0:
		return Changed
	case (by > 0) == (better == history.Up):
		return Improved
	}
	return Regressed
}

// verdicts returns the kind of a change of verdict: a newly broken rule is a new failure.
func verdicts(before, now string) Kind {
	was, is := strings.Fields(before), strings.Fields(now)
	failed := func(words []string) bool { return len(words) > 0 && (words[0] == "FAIL" || words[0] == "XPASS") }
	added := slices.ContainsFunc(is, func(rule string) bool { return !slices.Contains(was, rule) })
	switch {
	case failed(is) && (!failed(was) || added):
		return NewFailure
	case failed(was):
		return Fixed
	}
	return Changed
}

// seenTwice reports a verdict in real time as changed when two consecutive nights agree on it.
func (c *comparing) seenTwice(t *history.Track, i int) {
	now := &t.Entries[i]
	k := i - 1
	for k >= 0 && (t.Entries[k].Gap() || t.Entries[k].Segment() != now.Segment()) {
		k--
	}
	last, older := &t.Entries[k], t.Before(k)
	switch {
	case last.Word != now.Word:
		c.report.Suspected = append(
			c.report.Suspected,
			Suspicion{Series: t.Series, Host: t.Host, Before: side(last), Now: side(now), Since: now.Night},
		)
	case older != nil && older.Word != now.Word:
		x := between(t, older, now)
		x.Kind = verdicts(older.Word, now.Word)
		c.add(x)
	}
}
