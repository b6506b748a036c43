package night

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/bisect"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/builds"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/perf/change"
	"github.com/rdma-gauntlet/gauntlet/perf/history"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/site"
)

// Bounds of the searches of a night.
const (
	maxSearches = 8  // for commits
	maxSearched = 12 // changes of a command, the worst, whose runs a search makes
)

// search finds the commits that changed what repeats exactly, while the budget lasts. The store keeps the logs, and of
// both ends the runs for the page of the change.
func (s *Session) search(ctx context.Context, progress func(share float64, what string)) error {
	var found []change.Cause
	o := bisect.Options{
		Builder:  s.builder(),
		Subject:  s.subject,
		Known:    map[string][]history.Point{},
		Progress: progress,
	}
	for i := range s.out.Changes.Entries {
		e := &s.out.Changes.Entries[i]
		all := s.measuring(e)
		if why := unnamed(e); why != "" && len(all) > 0 {
			s.note(fmt.Sprintf("what changed from %s to %s is not searched for: %s", e.Before, e.Now, why))
			continue
		}
		for _, args := range all {
			if why := s.unsearched(ctx); why != "" {
				s.note(fmt.Sprintf("%s finds the commit; not run: %s", s.bisection(e, args), why))
				continue
			}
			o.Good, o.Bad, o.Args = e.Before, e.Now, args
			causes, err := s.causes(ctx, o)
			if err != nil {
				return err
			}
			found = append(found, causes...)
		}
	}
	s.out.Changes.Attribute(found)
	for i := range s.out.Changes.Entries {
		if err := s.keepEnds(ctx, &s.out.Changes.Entries[i], o.Known); err != nil {
			return err
		}
	}
	return nil
}

// builder builds commits of the subject.
func (s *Session) builder() builds.Builder {
	return builds.Builder{Repo: filepath.Dir(s.options.Path), Command: s.options.Build}
}

// unsearched says why no search may begin, "" when one may.
func (s *Session) unsearched(ctx context.Context) string {
	switch {
	case s.options.Build == "":
		return "the plan has no line build"
	case s.searches >= maxSearches:
		return fmt.Sprintf("%d searches were made", maxSearches)
	}
	return s.late(ctx)
}

// unnamed says which end of an entry is not the commit of a repository, "" when both are.
func unnamed(e *change.Entry) string {
	if err := cmp.Or(builds.CheckCommit(e.Before), builds.CheckCommit(e.Now)); err != nil {
		return fault.OneLine(err)
	}
	return ""
}

// bisection is the command that searches as the night does.
func (s *Session) bisection(e *change.Entry, args []string) string {
	b := model.Bisection{Good: e.Before, Bad: e.Now, Command: quote.Shell(args...), Build: s.options.Build,
		Subject: s.options.Subject}
	repo := filepath.Dir(s.options.Path)
	if repo == "." {
		repo = ""
	}
	return b.Again(s.options.Store, repo)
}

// measuring are the commands that measure the exact changes of an entry again.
func (s *Session) measuring(e *change.Entry) (list [][]string) {
	if e.Before == e.Now || e.Before == "" || e.Now == "" {
		return nil
	}
	names := map[*Step][]string{}
	for i := range e.Changes {
		step := s.series[e.Changes[i].Name]
		if step != nil && e.Changes[i].Class != history.Noisy && len(names[step]) < maxSearched {
			names[step] = append(names[step], e.Changes[i].Name)
		}
	}
	for i := range s.options.Steps {
		if step := &s.options.Steps[i]; names[step] != nil {
			list = append(list, only(step, names[step]))
		}
	}
	return list
}

// causes searches until every series that the command measures is explained. An error is the store's; that of a search
// is a note.
func (s *Session) causes(ctx context.Context, o bisect.Options) (found []change.Cause, err error) {
	for {
		s.searches++
		o.Folder = filepath.Join(s.options.Folder, "bisect", fmt.Sprintf("%02d", s.searches))
		b, failed := bisect.Run(ctx, o)
		if failed != nil {
			s.note(fault.OneLine(failed))
		}
		if b == nil || b.Last == "" {
			return found, nil
		}
		if err := KeepBisection(s.options.Store, b); err != nil {
			return nil, fault.Broken(err)
		}
		if c, one := b.Cause(); one {
			found = append(found, c)
		}
		if o.Series = b.Later; failed != nil || len(b.Later) == 0 || s.unsearched(ctx) != "" {
			return found, nil
		}
	}
}

// keepEnds keeps the runs of the worst changes of an entry, which searches made again at both ends.
func (s *Session) keepEnds(ctx context.Context, e *change.Entry, known map[string][]history.Point) error {
	kept := map[string]bool{}
	for i := range e.Changes {
		x := &e.Changes[i]
		for _, side := range []*change.Side{&x.Before, &x.Now} {
			was, again := s.entry(x, side), find(known[side.Commit], x.Name)
			if was == nil || again == nil || kept[again.Run] || len(kept) == 2*site.MaxBeside ||
				was.Spec != again.Spec || !was.Same(again) {
				continue
			}
			kept[again.Run] = true
			if err := s.keepAgain(ctx, was, again); err != nil {
				return fault.Broken(err)
			}
		}
	}
	return nil
}

// entry is the measurement of a side of a change; nil if no night has it.
func (s *Session) entry(x *change.Change, side *change.Side) *history.Entry {
	nights := s.nights()
	for i := range nights {
		n := &nights[i]
		if n.Night != side.Night || n.Commit != side.Commit {
			continue
		}
		if p := find(n.Points, x.Name); p != nil && p.Series == x.Series {
			return &history.Entry{Header: &n.Header, Point: p}
		}
	}
	return nil
}

// find returns the point of a series; nil if there is none.
func find(list []history.Point, series string) *history.Point {
	i := slices.IndexFunc(list, func(p history.Point) bool { return p.Name == series })
	if i < 0 {
		return nil
	}
	return &list[i]
}

// keepAgain keeps a run that was made again as the one of a measurement.
func (s *Session) keepAgain(ctx context.Context, was *history.Entry, again *history.Point) error {
	run := OpenRun(ctx, again.Run)
	if run == nil {
		return nil
	}
	run.Started, run.Run = was.Started, site.RunName(was.Point)
	return keepRun(s.options.Store, run)
}
