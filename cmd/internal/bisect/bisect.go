// Package bisect finds the commit that changed an exact number or verdict. It runs a command of this program with
// builds of commits, once for each, and halves the range between a commit with the old result and one with another.
package bisect

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/builds"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/perf/history"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// mostCommits bounds a range, in commits.
const mostCommits = 100_000

// Options say what is searched for, and in which range.
type Options struct {
	builds.Builder
	Subject   builds.Subject
	Good, Bad string // commits or refs; Good must be an ancestor of Bad
	Args      []string
	Series    []string                   // names of series; none for all that differ between the two ends
	Known     map[string][]history.Point // points that a store has, by commit; nil, or what is measured is added
	Folder    string                     // for the results of the runs
	Progress  func(share float64, what string)
}

// search is the state of a bisection.
type search struct {
	Options
	commits []string                     // of the range, Good first, Bad last
	series  []string                     // the series that are compared
	found   map[string]map[string]string // by commit, the values of its series
	broken  map[int]string               // by index, the error of a commit that cannot be built or run
	out     *model.Bisection
}

// Run searches. The error is the user's when the range or the command is wrong.
func Run(ctx context.Context, o Options) (*model.Bisection, error) {
	if err := builds.Check(o.Args); err != nil {
		return nil, fault.Usage(fmt.Errorf("bisect: %w", err))
	}
	s := &search{
		Options: o,
		found:   map[string]map[string]string{},
		broken:  map[int]string{},
		out: &model.Bisection{Format: model.FormatVersion, Command: quote.Shell(o.Args...), Build: o.Command,
			Subject: o.Subject.Name},
	}
	if err := s.span(ctx); err != nil {
		return nil, fault.Usage(err)
	}
	if err := s.ends(ctx); err != nil {
		return nil, err
	}
	// Invariant: commits[low] has the values of Good, commits[high] has others.
	low, high := 0, len(s.commits)-1
	for {
		mid, ok := s.middle(low, high)
		if !ok {
			break
		}
		same, err := s.same(ctx, mid)
		switch {
		case ctx.Err() != nil:
			return nil, fault.Broken(errors.New("bisect: interrupted"))
		case fault.Of(err) == fault.User:
			return nil, err
		case err != nil:
			s.broken[mid] = fault.OneLine(err)
			s.note(mid, s.broken[mid])
		case same:
			low = mid
		default:
			high = mid
		}
	}
	return s.out, s.conclude(ctx, low, high)
}

// span lists the commits of the range, along the first parents.
func (s *search) span(ctx context.Context) error {
	for _, name := range []*string{&s.Good, &s.Bad} {
		full, err := builds.Git(ctx, s.Repo, "rev-parse", "--verify", "--end-of-options", *name+"^{commit}")
		if err != nil {
			return fmt.Errorf("bisect: %w", err)
		}
		*name = full
	}
	text, err := builds.Git(ctx, s.Repo, "rev-list", "--reverse", "--first-parent", s.Good+".."+s.Bad)
	if err != nil {
		return fmt.Errorf("bisect: %w", err)
	}
	s.commits = append([]string{s.Good}, strings.Fields(text)...)
	switch n := len(s.commits); {
	case n < 2:
		return fmt.Errorf("bisect: %.12s is not before %.12s; give the older commit first", s.Good, s.Bad)
	case n > mostCommits:
		return fmt.Errorf("bisect: %d commits are more than %d; give a nearer one", n, mostCommits)
	}
	if _, err := builds.Git(ctx, s.Repo, "merge-base", "--is-ancestor", s.Good, s.Bad); err != nil {
		return fmt.Errorf("bisect: %.12s is no ancestor of %.12s; give one that is", s.Good, s.Bad)
	}
	s.out.Good, s.out.Bad, s.out.Commits = s.Good, s.Bad, len(s.commits)-1
	return nil
}

// ends measures both ends, and finds the series that differ.
func (s *search) ends(ctx context.Context) error {
	good, err := s.measure(ctx, 0)
	if err != nil {
		return err
	}
	bad, err := s.measure(ctx, len(s.commits)-1)
	if err != nil {
		return err
	}
	for name, is := range bad {
		if was, ok := good[name]; ok && was != is && (len(s.Series) == 0 || slices.Contains(s.Series, name)) {
			s.series = append(s.series, name)
		}
	}
	slices.Sort(s.series)
	unknown := slices.IndexFunc(s.Series, func(name string) bool { _, ok := good[name]; return !ok })
	switch {
	case unknown >= 0:
		return fault.Usage(
			fmt.Errorf(
				"bisect: --series %.100q: not among what the command measures exactly at %.12s",
				s.Series[unknown],
				s.Good,
			),
		)
	case len(s.series) == 0:
		return fault.Broken(
			fmt.Errorf("bisect: %.12s and %.12s measure the same; nothing exact changed between them", s.Good, s.Bad),
		)
	}
	s.note(0, "")
	s.note(len(s.commits)-1, "")
	return nil
}

// middle returns the commit nearest to the middle of a range, without its ends and without broken commits; false if
// there is none.
func (s *search) middle(low, high int) (int, bool) {
	mid := (low + high) / 2
	for away := 0; away <= high-low; away++ {
		for _, i := range []int{mid - away, mid + away} {
			if _, broken := s.broken[i]; i > low && i < high && !broken {
				return i, true
			}
		}
	}
	return 0, false
}

// same reports whether a commit has the values of Good.
func (s *search) same(ctx context.Context, i int) (bool, error) {
	is, err := s.measure(ctx, i)
	if err != nil {
		return false, err
	}
	s.note(i, "")
	return !slices.ContainsFunc(s.series, func(name string) bool { return is[name] != s.found[s.Good][name] }), nil
}

// measure returns the exact values of a commit, by series: from the store if it has them, else by a run.
func (s *search) measure(ctx context.Context, i int) (map[string]string, error) {
	commit := s.commits[i]
	if known := exact(s.Known[commit]); s.complete(known) {
		s.found[commit] = known
		return known, nil
	}
	s.Progress(float64(s.out.Runs)/float64(s.out.Runs+3), commit)
	program, err := s.Program(ctx, commit)
	if err != nil {
		return nil, fault.Broken(err)
	}
	s.out.Runs++
	n, err := s.Subject.Measure(ctx, program, s.Args, filepath.Join(s.Folder, fmt.Sprintf("%.12s", commit)))
	if err != nil {
		return nil, fmt.Errorf("bisect: commit %.12s: %w", commit, err)
	}
	found := exact(n.Points)
	if len(found) == 0 {
		return nil, fault.Usage(
			fmt.Errorf("bisect: %s measures nothing exactly; numbers in real time are for night to confirm", s.Args[0]),
		)
	}
	if s.Known != nil {
		s.Known[commit] = append(s.Known[commit], n.Points...)
	}
	s.found[commit] = found
	return found, nil
}

// complete reports whether known values include all series that are compared.
func (s *search) complete(known map[string]string) bool {
	wanted := s.series
	if len(wanted) == 0 {
		wanted = s.Series
	}
	return len(wanted) > 0 && !slices.ContainsFunc(wanted, func(name string) bool { _, ok := known[name]; return !ok })
}

// exact returns the points that do not depend on chance as text, by series.
func exact(list []history.Point) map[string]string {
	out := map[string]string{}
	for i := range list {
		if p := &list[i]; p.Class != history.Noisy {
			out[p.Name] = p.Word + p.Status
			if len(p.Values) > 0 {
				out[p.Name] = numbers(p.Values)
			}
		}
	}
	return out
}

// numbers formats values in full precision.
func numbers(values []float64) string {
	words := make([]string, len(values))
	for i, x := range values {
		words[i] = strconv.FormatFloat(x, 'f', -1, 64)
	}
	return strings.Join(words, " ")
}

// note records a commit as a step; conclude adds its value.
func (s *search) note(i int, trouble string) {
	s.out.Steps = append(s.out.Steps, model.BisectionStep{Commit: s.commits[i], Trouble: trouble})
}

// conclude sets the commit that was found, or the range in which no commit could be measured, which is an error.
func (s *search) conclude(ctx context.Context, low, high int) error {
	s.out.First, s.out.Last = s.commits[low+1], s.commits[high]
	title, err := builds.Git(ctx, s.Repo, "show", "--no-patch", "--format=%s", s.out.Last)
	s.out.Title = quote.Line(title, quote.Sentence)
	for _, name := range s.series {
		if s.found[s.Good][name] != s.found[s.out.Last][name] {
			s.out.Series = append(s.out.Series, name)
		} else {
			s.out.Later = append(s.out.Later, name)
		}
	}
	for i := range s.out.Steps {
		step := &s.out.Steps[i]
		step.Value = s.found[step.Commit][s.out.Series[0]]
	}
	if err == nil && high-low > 1 {
		err = fmt.Errorf(
			"bisect: one of the %d commits from %.12s to %.12s changed it; those between cannot be measured: %s",
			high-low,
			s.out.First,
			s.out.Last,
			s.broken[low+1],
		)
	}
	return fault.Broken(err)
}
