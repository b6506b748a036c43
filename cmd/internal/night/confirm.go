package night

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/perf/change"
	"github.com/rdma-gauntlet/gauntlet/perf/history"
	"github.com/rdma-gauntlet/gauntlet/perf/stats"
)

// confirm measures again what is suspected, the farthest from its level first, while the budget lasts.
func (s *Session) confirm(ctx context.Context, progress func(share float64, what string)) (confirmed []change.Change) {
	list := change.Of(history.Tracks(s.nights()), s.night.Night, change.Usual, nil).Suspected
	// verdicts, which have no score, wait for a second night
	list = slices.DeleteFunc(list, func(x change.Suspicion) bool {
		return x.Score == 0 || x.Host != s.night.Host
	})
	slices.SortStableFunc(list, func(a, b change.Suspicion) int {
		return cmp.Compare(math.Abs(b.Score), math.Abs(a.Score))
	})
	for i := range list {
		x := &list[i]
		why := s.late(ctx)
		if s.options.Build == "" {
			why = "the plan has no line build"
		}
		if why != "" {
			s.note(fmt.Sprintf("%s is suspected since %s, and was not measured again: %s", x.Name, x.Since, why))
			continue
		}
		progress(1, "confirming "+x.Name)
		switch c, err := s.inTurns(ctx, x, i); {
		case errors.Is(err, change.ErrNotConfirmed):
		case err != nil:
			s.note(
				fmt.Sprintf("%s is suspected since %s, and was not confirmed: %s", x.Name, x.Since, fault.OneLine(err)),
			)
		default:
			confirmed = append(confirmed, *c)
			s.night.Alarms = append(s.night.Alarms, c.Alarm(x.Since))
		}
	}
	return confirmed
}

// inTurns confirms one suspicion.
func (s *Session) inTurns(ctx context.Context, x *change.Suspicion, i int) (*change.Change, error) {
	b := s.builder()
	old, err := b.Program(ctx, x.Before.Commit)
	if err != nil {
		return nil, err
	}
	step := s.series[x.Name]
	if step == nil {
		return nil, fmt.Errorf("no command of the plan measures it")
	}
	n := 0
	return change.Confirm(x, change.Usual, func(new bool) (float64, error) {
		program := old
		if new {
			program = ""
		}
		n++
		folder := filepath.Join(s.options.Folder, "confirm", fmt.Sprintf("%02d", i+1), fmt.Sprintf("%03d", n))
		list, err := s.points(ctx, program, only(step, []string{x.Name}), folder)
		if err != nil {
			return 0, err
		}
		for k := range list {
			if p := &list[k]; p.Name == x.Name && p.Bench == x.Bench && !p.Gap() {
				return stats.Median(p.Values), nil
			}
		}
		return 0, fmt.Errorf("run %d has no such number", n)
	})
}
