package site

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/perf/change"
	"github.com/rdma-gauntlet/gauntlet/perf/history"
)

// past is what the nights of a store come to.
type past struct {
	site    *Site
	tracks  []history.Track
	nights  []string          // days, in time
	started map[string]string // of a day, the last
	tonight *change.Report    // everything of the newest night
	causes  []cause           // of all nights, the newest first
	marks   map[string][]mark // by the page of the series, the newest first
	runs    *runs
	failed  map[string]*failing // by the page of the series, the last failure that began
	list    []*failing          // those that have a page
	devices []*device           // that have versions of firmware
	selves  change.Selves
}

// cause is what one range of commits changed in one night.
type cause struct {
	Night string `json:"night"`
	Page  string `json:"page"`
	change.Entry
}

// mark is a change of a series.
type mark struct {
	Night, Page string
	Kind        change.Kind
}

func newPast(s *Site) *past {
	p := &past{site: s, tracks: history.Tracks(s.Nights), started: map[string]string{}, marks: map[string][]mark{},
		tonight: &change.Report{}, runs: newRuns(s), failed: map[string]*failing{},
		selves: change.Selves{}}
	for i := range s.Nights {
		n := &s.Nights[i]
		p.started[n.Night] = max(p.started[n.Night], n.Started)
		p.nights = append(p.nights, n.Night)
	}
	slices.Sort(p.nights)
	p.nights = slices.Compact(p.nights)
	settled := slices.DeleteFunc(slices.Clone(p.tracks), func(t history.Track) bool {
		return t.Class == history.Noisy && t.Last().Word == ""
	})
	for i, night := range slices.Backward(p.nights) {
		tracks := settled // a suspicion of a past night is of no interest: it was confirmed or not
		if i == len(p.nights)-1 {
			tracks = p.tracks
		}
		r := change.Of(tracks, night, change.Usual, change.Recorded(s.Nights, p.tracks, night))
		r.Attribute(s.Causes())
		if i == len(p.nights)-1 {
			p.tonight = r
		}
		p.keep(r)
		p.selves.Alarms(r)
	}
	p.selves.Count(p.tracks)
	p.failures()
	p.devices = devices(p)
	return p
}

// keep notes the causes of a night.
func (p *past) keep(r *change.Report) {
	for i, e := range r.Entries {
		if e.Segment != "" || len(e.Changes) == 0 {
			continue
		}
		page := ""
		if len(p.causes) < maxCauses {
			page = changePage(r, i)
			p.causes = append(p.causes, cause{r.Night, page, e})
		}
		for i := range e.Changes {
			x := &e.Changes[i]
			at := seriesPage(&x.Series, x.Host)
			p.marks[at] = append(p.marks[at], mark{r.Night, page, x.Kind})
		}
	}
}

// changePage names the page of an entry, by its range and where it is not the first of that by the commit too.
func changePage(r *change.Report, i int) string {
	e := &r.Entries[i]
	parts := []string{r.Night, e.Before, e.Now}
	if slices.ContainsFunc(r.Entries[:i], func(o change.Entry) bool {
		return o.Segment == "" && o.Before == e.Before && o.Now == e.Now
	}) {
		parts = append(parts, e.Commit)
	}
	return "change-" + digest(parts...) + ".html"
}

// shown are the tracks that have a page.
func (p *past) shown() []history.Track { return p.tracks[:min(len(p.tracks), maxSeries)] }

// find returns the track of a change.
func (p *past) find(x *change.Change) *history.Track {
	i := slices.IndexFunc(p.tracks, func(t history.Track) bool {
		return t.Name == x.Name && t.Bench == x.Bench && t.Class == x.Class && t.Host == x.Host
	})
	if i < 0 {
		return nil
	}
	return &p.tracks[i]
}
