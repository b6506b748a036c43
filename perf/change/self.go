package change

import "github.com/rdma-gauntlet/gauntlet/perf/history"

// Self counts comparisons of a commit with itself, in which nothing can have changed, and those that came out as a
// change.
type Self struct {
	Compared int `json:"compared"`
	Alarms   int `json:"alarms"`
}

// Selves are such counts by the class of the series.
type Selves map[history.Class]Self

// Classes are the classes, the most certain first.
var Classes = []history.Class{history.Exact, history.Paired, history.Noisy}

// Count counts the comparisons of a commit with itself, under the same conditions.
func (s Selves) Count(tracks []history.Track) {
	for i := range tracks {
		var last *history.Entry
		of := s[tracks[i].Class]
		for k := range tracks[i].Entries {
			e := &tracks[i].Entries[k]
			if e.Gap() {
				continue
			}
			if last != nil && last.Commit == e.Commit && e.Commit != "" && last.Segment() == e.Segment() {
				of.Compared++
			}
			last = e
		}
		s[tracks[i].Class] = of
	}
}

// Alarms counts the false alarms of a night.
func (s Selves) Alarms(r *Report) {
	for i := range r.Entries {
		e := &r.Entries[i]
		if e.Before != e.Now || e.Now == "" {
			continue
		}
		for k := range e.Changes {
			of := s[e.Changes[k].Class]
			of.Alarms++
			s[e.Changes[k].Class] = of
		}
	}
}

// All is the sum over the classes.
func (s Selves) All() (sum Self) {
	for _, of := range s {
		sum.Compared += of.Compared
		sum.Alarms += of.Alarms
	}
	return sum
}

// OfSelf returns the counts over all nights.
func OfSelf(nights []history.Night, tracks []history.Track) Selves {
	s := Selves{}
	s.Count(tracks)
	days := map[string]bool{}
	for i := range nights {
		if day := nights[i].Night; !days[day] {
			days[day] = true
			s.Alarms(Of(tracks, day, Usual, Recorded(nights, tracks, day)))
		}
	}
	return s
}
