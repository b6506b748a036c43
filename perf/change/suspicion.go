package change

import (
	"cmp"
	"math"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/perf/history"
	"github.com/rdma-gauntlet/gauntlet/perf/stats"
)

// The detector compares the newest nights with the level before them.
const (
	recent    = 6    // newest nights, each with half the weight of the next
	mostLevel = 60   // maximum number of nights of the level
	leastOf   = 10   // minimum number of nights of a level
	suspected = 1.5  // score of a suspicion, in spreads
	clipped   = 4    // maximum deviation of one night, in spreads
	least     = 1e-3 // minimum spread, as a share of the level
)

// Suspicion is a noisy number that seems to have left its level, or a verdict seen in one night only.
type Suspicion struct {
	history.Series
	Host   string  `json:"host"`
	Before Side    `json:"before"` // the first night of the level: the build to compare with
	Now    Side    `json:"now"`
	Since  string  `json:"since"`           // night that seems to begin the new level
	Score  float64 `json:"score,omitempty"` // in spreads, with the sign of the difference
}

// suspect compares an entry with its level: the entries of its segment since the last confirmed change.
func suspect(t *history.Track, i int) (s Suspicion, ok bool) {
	now := &t.Entries[i]
	since := ""
	for _, a := range t.Alarms {
		since = max(since, a.Since)
	}
	var level []*history.Entry
	var values []float64
	for k := range t.Entries[:i+1] {
		e := &t.Entries[k]
		if e.Night >= since && len(e.Values) > 0 && e.Segment() == now.Segment() {
			level, values = append(level, e), append(values, e.Value())
		}
	}
	score := Score(values)
	if math.Abs(score) < suspected {
		return s, false
	}
	first := max(0, len(level)-mostLevel-recent)
	return Suspicion{Series: t.Series, Host: t.Host, Before: side(level[first]), Now: side(now),
		Since: level[first+split(values[first:])].Night, Score: score}, true
}

// Score returns the distance of the newest nights from the level of those before them, in robust spreads of the same
// quantity: a mean of consecutive nights in which each has half the weight of the next. It is 0 while there are too few
// nights.
func Score(values []float64) float64 {
	values = values[max(0, len(values)-mostLevel-recent):]
	n := len(values) - recent
	if n < leastOf {
		return 0
	}
	middle := stats.Median(values[:n])
	spread := max(stats.Spread(values[:n], middle), least*math.Abs(middle), math.SmallestNonzeroFloat64)
	z := make([]float64, len(values))
	for i, x := range values {
		z[i] = min(max((x-middle)/spread, -clipped), clipped)
	}
	var usual []float64
	for end := recent; end <= n; end++ {
		usual = append(usual, weighted(z[end-recent:end]))
	}
	const independent = 0.58 // spread of such a mean for independent nights
	return weighted(z[len(z)-recent:]) / max(independent, stats.Spread(usual, stats.Median(usual)))
}

// weighted returns a mean in which each value has half the weight of the next.
func weighted(z []float64) (mean float64) {
	mean = z[0]
	for _, x := range z[1:] {
		mean = (mean + x) / 2
	}
	return mean
}

// split returns the index that most likely begins the second of two levels.
func split(values []float64) (at int) {
	ranks, best := ranks(values), -1.0
	total, sum, n := 0.0, 0.0, float64(len(values))
	for _, r := range ranks {
		total += r
	}
	for i := 1; i < len(values); i++ {
		sum += ranks[i-1]
		k := float64(i)
		if d := math.Abs(sum/k-(total-sum)/(n-k)) * math.Sqrt(k*(n-k)/n); d > best {
			at, best = i, d
		}
	}
	return at
}

// ranks returns the rank of each value, so that an outlier has no more weight than any other extreme value.
func ranks(values []float64) []float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	out := make([]float64, len(values))
	for rank, i := range order {
		out[i] = float64(rank)
	}
	return out
}
