package change

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/perf/history"
	"github.com/rdma-gauntlet/gauntlet/perf/stats"
)

// Recorded returns the noisy changes of a night that a store has recorded as confirmed, as input of Of when nothing is
// measured.
func Recorded(nights []history.Night, tracks []history.Track, night string) (list []Change) {
	for i := range nights {
		n := &nights[i]
		if n.Night != night {
			continue
		}
		for _, a := range n.Alarms {
			k := slices.IndexFunc(tracks, func(t history.Track) bool {
				return t.Name == a.Series && t.Host == a.Host && t.Class == history.Noisy
			})
			if k < 0 {
				continue
			}
			list = append(list, recalled(&tracks[k], &a, night))
		}
	}
	return list
}

// recalled returns the change that an alarm of the track records.
func recalled(t *history.Track, a *history.Alarm, night string) Change {
	return Change{Series: t.Series, Host: t.Host, Kind: direction(t.Better, a.Relative), P: a.P,
		Before: Side{Commit: a.Old}, Now: Side{Night: night, Commit: a.New},
		Relative: &stats.Estimate{Value: a.Relative, Low: a.Relative, High: a.Relative}}
}
