package night

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/build"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/perf/change"
	"github.com/rdma-gauntlet/gauntlet/perf/history"
	"github.com/rdma-gauntlet/gauntlet/perf/history/store"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Stored returns the changes of a night of a store, over all its hosts; day "" is the newest. Later nights are left
// out. The commits that searches found are those that its documents name.
func Stored(ctx context.Context, c *store.Contents, dir, day string) (*model.Night, error) {
	if day == "" {
		for i := range c.Nights {
			day = max(day, c.Nights[i].Night)
		}
	}
	nights := slices.DeleteFunc(slices.Clone(c.Nights), func(n history.Night) bool { return n.Night > day })
	out := &model.Night{
		Format:  model.FormatVersion,
		Version: build.Version(),
		Tool:    build.Commit(),
		Command: build.CommandLine(),
		Store:   dir,
		Steps:   []model.NightStep{},
		Failing: []model.NightFailure{},
		Notes:   []string{},
	}
	hosts := ""
	for i := range nights {
		if n := &nights[i]; n.Night == day {
			if out.Header = n.Header; hosts != "" {
				hosts += ", "
			}
			hosts += n.Host
			out.Failing = append(out.Failing, failing(n.Points)...)
		}
	}
	if hosts == "" {
		return nil, fault.Usage(fmt.Errorf("store: %s has no night %s; see: store list", dir, cmp.Or(day, "at all")))
	}
	out.Host = hosts
	tracks := history.Tracks(nights)
	out.Changes = change.Of(tracks, day, change.Usual, change.Recorded(nights, tracks, day))
	out.Selves = change.OfSelf(nights, tracks)
	e, skipped, err := Documents(ctx, dir)
	for _, x := range skipped {
		out.Notes = append(out.Notes, x.String())
	}
	out.Changes.Attribute(e.Causes())
	out.Settle()
	return out, fault.Broken(err)
}
