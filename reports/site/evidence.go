package site

import (
	"cmp"
	"maps"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/perf/change"
	"github.com/rdma-gauntlet/gauntlet/perf/history"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/passport"
)

// Evidence is what is known beside the points of nights.
type Evidence struct {
	Kept       []model.KeptRun                 // runs that the store keeps
	Open       func(run string) *model.KeptRun // reads the folder of another; nil of none, or no function
	Bisections []model.Bisection
	Passports  []*passport.Passport
}

// Causes are the commits that searches found.
func (e *Evidence) Causes() (list []change.Cause) {
	for i := range e.Bisections {
		if c, one := e.Bisections[i].Cause(); one {
			list = append(list, c)
		}
	}
	return list
}

// runs finds what is known of the runs of points.
type runs struct {
	evidence *Evidence
	kept     map[[2]string]*model.KeptRun // by when the night began and the name of the run
	newest   map[string]string            // by the folder, when the last night that wrote it began
	opened   map[string]*model.KeptRun    // folders that have been looked at
}

func newRuns(s *Site) *runs {
	r := &runs{
		evidence: &s.Evidence,
		kept:     map[[2]string]*model.KeptRun{},
		newest:   map[string]string{},
		opened:   map[string]*model.KeptRun{},
	}
	for i := range s.Evidence.Kept {
		if k := &s.Evidence.Kept[i]; k.Result != nil {
			r.kept[[2]string{k.Started, k.Run}] = k
		}
	}
	for i := range s.Nights {
		for k := range s.Nights[i].Points {
			p := &s.Nights[i].Points[k]
			r.newest[p.Run] = max(r.newest[p.Run], s.Nights[i].Started)
		}
	}
	return r
}

// RunName is what a store calls the run of a point: by its folder, or where none was kept by its Spec.
func RunName(p *history.Point) string { return cmp.Or(p.Run, "Spec "+p.Spec) }

// of is what is known of the run of an entry; nil when nothing is. A folder that a later night has written again is of
// that one, and one that holds another Spec is of somebody else.
func (r *runs) of(e *history.Entry) *model.KeptRun {
	if e == nil {
		return nil
	}
	if k := r.kept[[2]string{e.Started, RunName(e.Point)}]; k != nil {
		return k
	}
	if e.Run == "" || r.evidence.Open == nil || r.newest[e.Run] != e.Started {
		return nil
	}
	k, seen := r.opened[e.Run]
	if !seen {
		if k = r.evidence.Open(e.Run); k != nil {
			k.Started, k.Run = e.Started, e.Run
		}
		r.opened[e.Run] = k
	}
	if k == nil || k.Result == nil || k.Result.SpecHash != e.Spec {
		return nil
	}
	return k
}

// Uses are the runs that the pages of tonight's changes and failures read from folders.
func (s *Site) Uses() (list []*model.KeptRun) {
	p := s.known()
	p.runs = newRuns(s) // of which only those that are opened from here on count
	for i := range p.causes {
		if c := &p.causes[i]; c.Night == p.tonight.Night {
			newDifference(p, c)
		}
	}
	for _, f := range p.list {
		if f.at.Night == p.tonight.Night {
			newFailurePage(p, f)
		}
	}
	for _, run := range slices.Sorted(maps.Keys(p.runs.opened)) {
		if k := p.runs.opened[run]; k != nil {
			list = append(list, k)
		}
	}
	return list
}
