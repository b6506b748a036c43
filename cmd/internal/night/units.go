package night

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/builds"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/units"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/perf/history"
)

// dividing are the commands that share their runs among machines themselves. Those of a night have a folder of results
// each, below that of the night.
var dividing = []string{"conform", "matrix", "perf"}

func (s *Step) divides() bool { return slices.Contains(dividing, s.Args[0]) }

// folder is the name of the folder of a step in that of the night.
func (s *Step) folder(i int) string { return fmt.Sprintf("%02d-%s", i+1, s.Args[0]) }

// bench is where a step runs.
func (s *Step) bench() string {
	for i, a := range s.Args {
		if value, ok := strings.CutPrefix(a, "--bench="); ok {
			return value
		}
		if a == "--bench" && i+1 < len(s.Args) {
			return s.Args[i+1]
		}
	}
	return "sim"
}

// Whole are the units of a night that one machine makes in one go: commands that do not divide their runs. A night
// whose results are kept has a day, and is in virtual time: what is measured in real time is of one host.
func (o *Options) Whole() (all []units.Unit, steps []int, err error) {
	if o.Night == "" {
		return nil, nil, fault.Usage(
			errors.New("night: --units: add --night DAY, so that all machines mean the same night"),
		)
	}
	for i := range o.Steps {
		s := &o.Steps[i]
		if s.bench() != "sim" || o.Subject != "" {
			return nil, nil, fault.Usage(
				fmt.Errorf("%s:%d: %s: --units keeps what virtual time gives: real time is of one host, "+
					"which has a plan of its own; store merge joins the nights of hosts", o.Path, s.Line, s.Args[0]),
			)
		}
		if !s.divides() {
			all, steps = append(all, units.New("night", s.String(), 1, s.Args...)), append(steps, i)
		}
	}
	return all, steps, nil
}

// Divide makes the part of a shard of the commands that divide their runs. Costs is a folder of results of another
// night, or "". It returns how many runs these commands made and found.
func (o *Options) Divide(
	ctx context.Context,
	shard, dir, costs string,
	progress func(share float64, what string),
) (done units.Done, err error) {
	for i := range o.Steps {
		s := &o.Steps[i]
		if !s.divides() {
			continue
		}
		progress(float64(i)/float64(len(o.Steps)), s.String())
		folder, err := filepath.Abs(filepath.Join(dir, s.folder(i)))
		if err != nil {
			return done, fault.Broken(err)
		}
		args := append(slices.Clone(s.Args), "--quiet", "--shard", shard, "--units", folder)
		if costs != "" {
			if costs, err = filepath.Abs(costs); err != nil {
				return done, fault.Broken(err)
			}
			args = append(args, "--costs", filepath.Join(costs, s.folder(i)))
		}
		var out bytes.Buffer
		c := builds.Subject{Dir: filepath.Dir(o.Path)}.Command(ctx, "", args)
		c.Stdout, c.Stderr = &out, &out
		err = builds.Run(c)
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		var exit *exec.ExitError
		switch said := lines[len(lines)-1]; {
		case errors.As(err, &exit) && exit.ExitCode() == builds.UsageCode:
			return done, fault.Usage(fmt.Errorf("%s:%d: %s", o.Path, s.Line, said))
		case err != nil:
			return done, fault.Broken(fmt.Errorf("%s:%d: %w: %s", o.Path, s.Line, err, said))
		default:
			done.Read(said)
		}
	}
	return done, nil
}

// Make measures a command that does not divide its runs.
func (s *Session) Make(ctx context.Context, i int) ([]history.Point, error) {
	step := &s.options.Steps[i]
	list, err := s.points(ctx, "", step.Args, filepath.Join(s.options.Folder, step.folder(i)))
	switch {
	case err != nil:
		return nil, err
	case slices.ContainsFunc(list, noisy):
		return nil, fault.Usage(
			fmt.Errorf("%s:%d: %s: it measures in real time, which is of one host; leave it out of a night "+
				"whose results are kept", s.options.Path, step.Line, step.Args[0]),
		)
	}
	for k := range list {
		list[k].Run = "" // a path of one machine
	}
	return list, nil
}

// kept are the points of a step from the results that the session has: of a command that divides its runs, what that
// makes of them, and of another those that are kept, or are made and kept.
func (s *Session) kept(ctx context.Context, step *Step, i int) ([]history.Point, error) {
	if !step.divides() {
		u := units.New("night", step.String(), 1, step.Args...)
		return units.Kept(s.options.Kept, u, func() ([]history.Point, error) { return s.Make(ctx, i) })
	}
	args := slices.Clone(step.Args)
	for _, dir := range s.options.Units {
		folder, err := filepath.Abs(filepath.Join(dir, step.folder(i)))
		if err != nil {
			return nil, fault.Broken(err)
		}
		args = append(args, "--units", folder)
	}
	return s.points(ctx, "", args, filepath.Join(s.options.Folder, step.folder(i)))
}

// maxRepeated is how many failures of a night whose results were kept are played again for their pages.
const maxRepeated = 10

// repeat plays failures of tonight again, because results that are kept have no run folders: in virtual time the run is
// the same. What pages show of it goes into the store.
func (s *Session) repeat(ctx context.Context) error {
	n := 0
	for i := range s.night.Points {
		p := &s.night.Points[i]
		step := s.series[p.Name]
		if n == maxRepeated || s.failedBefore(p) || step == nil || !step.divides() ||
			!strings.HasPrefix(p.Word, rule.Fail.String()) {
			continue
		}
		n++
		folder := filepath.Join(s.options.Folder, "again", fmt.Sprintf("%02d", n))
		list, err := s.points(ctx, "", only(step, []string{p.Name}), folder)
		if err != nil {
			s.note(fmt.Sprintf("%s was not played again for its page: %s", p.Name, fault.OneLine(err)))
			continue
		}
		if o := find(list, p.Name); o != nil && o.Spec == p.Spec && o.Word == p.Word {
			if err := s.keepAgain(ctx, &history.Entry{Header: &s.night.Header, Point: p}, o); err != nil {
				return fault.Broken(err)
			}
		}
	}
	return nil
}

// failedBefore reports whether the night before has the same failure, whose page there is already.
func (s *Session) failedBefore(p *history.Point) bool {
	for _, n := range slices.Backward(s.before.Nights) {
		if i := slices.IndexFunc(
			n.Points,
			func(o history.Point) bool { return o.Series == p.Series && !o.Gap() },
		); i >= 0 {
			return n.Points[i].Word == p.Word && n.Points[i].Spec == p.Spec
		}
	}
	return false
}

// only leaves of a command the runs that some series are of, where the names of series tell them, and perhaps a few
// more.
func only(s *Step, series []string) []string {
	again := history.Command(series)
	switch virtual := s.bench() == "sim"; {
	case again == nil || again[0] != s.Args[0]:
		return s.Args
	case again[0] == "conform" && virtual:
		return again
	case again[0] == "matrix" || virtual:
		return append(without(s.Args, again[1:]), again[1:]...)
	}
	return s.Args
}

// without leaves out of a command the flags, and their values, that others take the place of.
func without(args, others []string) (rest []string) {
	for i := 0; i < len(args); i++ {
		name, _, joined := strings.Cut(args[i], "=")
		switch {
		case !strings.HasPrefix(name, "--") || !slices.Contains(others, name):
			rest = append(rest, args[i])
		case !joined:
			i++
		}
	}
	return rest
}
