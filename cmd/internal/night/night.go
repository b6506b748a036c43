// Package night runs a plan: commands of this program one after the other, those in real time several times and beside
// a pinned build. What they measured becomes a night of a store, and what that changed a report. Numbers that are
// suspected to have changed are measured again, in turns with a build of the nights before. A Session goes through New,
// Open and Run once.
package night

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/build"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/builds"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/points"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/run"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/units"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/perf/change"
	"github.com/rdma-gauntlet/gauntlet/perf/history"
	"github.com/rdma-gauntlet/gauntlet/perf/history/store"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Options say what a night does.
type Options struct {
	*Plan
	Path    string // of the plan
	Folder  string // of the report
	Night   string // the day; "" is today, UTC
	Commit  string // of what is measured; "" asks the repository of the plan for a subject, and this program for itself
	Command string // for the report: how to repeat it

	// Kept are results of units, which are taken from Units, the folders that it opened, and not made again; nil where
	// none are kept. What comes of a night is then a function of them: where and when it was made is no part of that.
	Kept  *units.Folder
	Units []string
}

// Session is one night.
type Session struct {
	options  Options
	started  time.Time
	subject  builds.Subject
	before   *store.Contents
	night    history.Night
	series   map[string]*Step // which step measured a series
	searches int              // for commits
	out      *model.Night
}

// New looks at the store and finds out which commit is measured.
func New(ctx context.Context, o Options) (*Session, error) {
	s := &Session{
		options: o,
		started: time.Now().UTC(),
		subject: builds.Subject{Name: o.Subject, Dir: filepath.Dir(o.Path)},
		series:  map[string]*Step{},
	}
	started := s.started.Format(time.RFC3339)
	s.night.Header = history.Header{
		Night:    cmp.Or(o.Night, started[:len(time.DateOnly)]),
		Started:  started,
		Version:  build.Version(),
		Commit:   cmp.Or(o.Commit, s.commit(ctx)),
		Host:     cmp.Or(o.Host, points.Host()),
		Firmware: o.Firmware,
	}
	if o.Kept != nil {
		s.night.Started = s.night.Night + "T00:00:00Z"
	}
	if _, err := time.Parse(time.DateOnly, s.night.Night); err != nil {
		return nil, fault.Usage(fmt.Errorf("--night %.40q: want a day such as 2026-11-24", s.night.Night))
	}
	c, err := store.Read(o.Store)
	switch {
	case errors.Is(err, os.ErrNotExist):
		c = &store.Contents{}
	case err != nil:
		return nil, fault.Usage(err)
	}
	s.before = c
	s.out = &model.Night{
		Format:  model.FormatVersion,
		Version: build.Version(),
		Tool:    build.Commit(),
		Command: o.Command,
		Plan:    o.Path,
		Folder:  o.Folder,
		Store:   o.Store,
		Header:  s.night.Header,
		Steps:   []model.NightStep{},
		Failing: []model.NightFailure{},
		Notes:   []string{},
	}
	for _, x := range c.Skipped {
		s.note(x.String())
	}
	return s, nil
}

// commit is that of the subject: of the repository in which the plan is, or of this program.
func (s *Session) commit(ctx context.Context) string {
	if s.options.Subject == "" {
		return build.Commit()
	}
	dir := filepath.Dir(s.options.Path)
	name, err := builds.Git(ctx, dir, "rev-parse", "HEAD")
	if err != nil {
		return ""
	}
	if changes, err := builds.Git(ctx, dir, "status", "--porcelain",
		"--untracked-files=no"); err != nil || changes != "" {
		name += "+changes"
	}
	return name
}

// note says something to the reader.
func (s *Session) note(text string) { s.out.Notes = append(s.out.Notes, text) }

// Open makes the report folder. One that holds a night is not overwritten.
func (s *Session) Open() error {
	dir := s.options.Folder
	if _, err := os.Stat(filepath.Join(dir, "night.json")); err == nil {
		return fault.Usage(fmt.Errorf("night: %s %w a night; choose another folder or remove it", dir, run.ErrHeld))
	}
	return fault.Broken(os.MkdirAll(dir, 0o755))
}

// Run runs the steps, adds the night to the store and says what changed. What could not be run is told. An error is
// that of a store that cannot be written, or the user's, of a command that asks for what cannot be; beside the latter
// there is a night if other commands were measured before.
func (s *Session) Run(ctx context.Context, progress func(share float64, what string)) (*model.Night, error) {
	if err := s.options.check(ctx, s.subject); err != nil {
		return nil, err
	}
	limited := ctx
	if s.options.Budget > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithDeadline(ctx, s.started.Add(s.options.Budget))
		defer cancel()
	}
	wrong, err := s.steps(limited, progress)
	if err != nil {
		return nil, err
	}
	s.environment()
	confirmed := s.confirm(limited, progress)
	if err := s.keep(); err != nil {
		return nil, fault.Broken(err)
	}
	s.out.Changes = change.Of(history.Tracks(s.nights()), s.night.Night, change.Usual, confirmed)
	if err := s.search(limited, progress); err != nil {
		return nil, err
	}
	s.conclude()
	return s.out, wrong
}

// environment fills in where real packets ran.
func (s *Session) environment() {
	t := points.Told{Commit: s.night.Commit, Host: s.night.Host, Night: s.night.Night, Firmware: s.night.Firmware}
	t.Finish(&s.night)
	s.out.Header = s.night.Header
	if late := points.Backwards(&s.night, s.before.Nights); late != "" {
		s.note(late)
	}
}

// keep adds the night to the store. Nothing that was measured is nothing to keep. Where the store cannot be written, a
// store in the report folder has the night.
func (s *Session) keep() (err error) {
	if len(s.night.Points) == 0 {
		return nil
	}
	if s.out.File, err = store.Add(s.options.Store, &s.night); err == nil {
		return nil
	}
	spare := filepath.Join(s.options.Folder, "nights")
	if _, failed := store.Add(spare, &s.night); failed == nil {
		err = fmt.Errorf("%w; the night is in %s: %s adds it", err, spare,
			quote.Shell("gauntlet", "store", "merge", s.options.Store, spare))
	}
	return err
}

// nights are those of the store, with tonight if anything was measured.
func (s *Session) nights() []history.Night {
	if len(s.night.Points) == 0 {
		return s.before.Nights
	}
	return append(slices.Clone(s.before.Nights), s.night)
}

// conclude says what fails, and gives the night its status.
func (s *Session) conclude() {
	s.out.Failing = append(s.out.Failing, failing(s.night.Points)...)
	s.out.Wall = time.Since(s.started).Seconds()
	s.out.Settle()
}

// failing are the verdicts that are failures, new or not.
func failing(list []history.Point) (out []model.NightFailure) {
	for i := range list {
		if p := &list[i]; strings.HasPrefix(p.Word, rule.Fail.String()) {
			out = append(out, model.NightFailure{Series: p.Name, Word: p.Word, Run: p.Run})
		}
	}
	return out
}
