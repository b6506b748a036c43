package night

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/builds"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/points"
	"github.com/rdma-gauntlet/gauntlet/perf/history"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// check finds flags that a command does not have before any is run. What their values mean only a run tells.
func (o *Options) check(ctx context.Context, subject builds.Subject) error {
	for i := range o.Steps {
		step := &o.Steps[i]
		if err := subject.Check(ctx, step.Args); err != nil {
			return o.at(step, err)
		}
	}
	return nil
}

// at adds the line of the plan to an error of a command.
func (o *Options) at(step *Step, err error) error {
	return fmt.Errorf("%s:%d: %w", o.Path, step.Line, err)
}

// steps runs all commands. A command that asks for what cannot be ends the night while nothing is measured; a later one
// is left out, so that what was measured is kept, and the first such error is wrong.
func (s *Session) steps(ctx context.Context, progress func(share float64, what string)) (wrong, err error) {
	for i := range s.options.Steps {
		progress(float64(i)/float64(len(s.options.Steps)), s.options.Steps[i].String())
		if err := s.step(ctx, i); err != nil {
			if len(s.night.Points) == 0 {
				return nil, err
			}
			wrong = cmp.Or(wrong, err)
		}
	}
	return wrong, nil
}

// step runs a command, in real time as often as the plan says. The error is the user's.
func (s *Session) step(ctx context.Context, i int) (wrong error) {
	step := &s.options.Steps[i]
	began := time.Now()
	out := model.NightStep{Command: step.String(), Left: s.late(ctx)}
	if out.Left == "" {
		list, err := s.measured(ctx, step, i)
		switch {
		case err != nil && fault.Of(err) == fault.User:
			wrong, out.Trouble = s.options.at(step, err), fault.OneLine(err)
		case err != nil && ctx.Err() != nil:
			out.Left = s.late(ctx)
		case err != nil:
			out.Trouble = fault.OneLine(err)
		}
		for _, p := range list {
			if out.Points++; p.Gap() {
				out.Gaps++
			}
			s.series[p.Name] = step
		}
		s.night.Points = append(s.night.Points, list...)
	}
	out.Wall = time.Since(began).Seconds()
	s.out.Steps = append(s.out.Steps, out)
	return wrong
}

// late says why nothing may begin, "" when something may.
func (s *Session) late(ctx context.Context) string {
	switch {
	case s.options.Budget > 0 && time.Since(s.started) >= s.options.Budget:
		return fmt.Sprintf("the budget of %s was used up", s.options.Budget)
	case ctx.Err() != nil:
		return "interrupted"
	}
	return ""
}

// measured makes the points of a step. One in virtual time runs once; in real time it runs several times, in turns with
// the pinned build.
func (s *Session) measured(ctx context.Context, step *Step, i int) ([]history.Point, error) {
	if s.options.Kept != nil {
		return s.kept(ctx, step, i)
	}
	once := func(program string, n int) ([]history.Point, error) {
		folder := filepath.Join(s.options.Folder, step.folder(i))
		if n > 0 {
			folder = filepath.Join(folder, fmt.Sprintf("again-%d", n))
		}
		return s.points(ctx, program, step.Args, folder)
	}
	list, err := once("", 0)
	if err != nil || !slices.ContainsFunc(list, noisy) {
		return list, err
	}
	runs, pinned := [][]history.Point{list}, []history.Point(nil)
	for n := 1; n < s.runs() && s.late(ctx) == ""; n++ {
		program := ""
		if n%4 == 1 || n%4 == 2 {
			program = s.options.Pinned
		}
		more, err := once(program, n)
		switch {
		case err != nil:
			return combined(runs), err
		case program != "":
			pinned = append(pinned, more...)
		default:
			runs = append(runs, more)
		}
	}
	list = combined(runs)
	points.Refer(list, pinned)
	return list, nil
}

// runs is how often a command runs in real time, with those of the pinned build.
func (s *Session) runs() int {
	if s.options.Pinned != "" {
		return 2 * s.options.Repeat
	}
	return s.options.Repeat
}

// points runs a command with a build.
func (s *Session) points(ctx context.Context, program string, args []string, folder string) ([]history.Point, error) {
	n, err := s.subject.Measure(ctx, program, args, folder)
	if err != nil {
		return nil, err
	}
	s.night.Kernel = max(s.night.Kernel, n.Kernel)
	return n.Points, nil
}

func noisy(p history.Point) bool { return p.Class == history.Noisy }

// combined joins the runs of a command: of a number all values, of a verdict the most frequent, with how often there
// were others. What was a gap in some runs is one only if it was in all.
func combined(runs [][]history.Point) []history.Point {
	var out []history.Point
	at := map[history.Series]int{}
	words := map[history.Series][]string{}
	for _, list := range runs {
		for _, p := range list {
			i, ok := at[p.Series]
			if !ok {
				i = len(out)
				at[p.Series], out = i, append(out, p)
			} else if p.Class == history.Noisy && !p.Gap() {
				q := &out[i]
				q.Values, q.Status, q.Run = append(q.Values, p.Values...), "", p.Run
				q.Word = p.Word
			}
			if p.Word != "" {
				words[p.Series] = append(words[p.Series], p.Word)
			}
		}
	}
	for i := range out {
		if w := words[out[i].Series]; len(w) > 1 {
			out[i].Word, out[i].Status = frequent(w)
		}
	}
	return out
}

// frequent is the word that is there most often, the first of several, and how often there were others.
func frequent(words []string) (word, others string) {
	best := 0
	for _, w := range words {
		n := 0
		for _, o := range words {
			if o == w {
				n++
			}
		}
		if n > best {
			word, best = w, n
		}
	}
	if best < len(words) {
		others = fmt.Sprintf("flaky: so in %d of %d runs", best, len(words))
	}
	return word, others
}
