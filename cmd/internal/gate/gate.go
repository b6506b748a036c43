// Package gate decides whether a change may be merged: it plays the stages that a gate file asks for, fast and exact
// ones first, compares the numbers with those of main, and writes one verdict and a report folder.
//
// Package conform plays scenarios and links, and package qualify gathers their outcomes; packages qualify and claims
// measure targets. A Session goes through New, Open and Run once. The look of a gate is for package reports.
package gate

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/build"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/run"
	"github.com/rdma-gauntlet/gauntlet/conformance/profiles"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/conformance/waivers"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// FormatVersion is the version of gate.json.
const FormatVersion = 1

// Options configure a Session.
type Options struct {
	*File
	Path          string // of the gate file; "" when there is none
	Folder        string // of the report
	Command       string // for the report: the command that repeats the gate
	Jobs          int    // runs at once in virtual time
	KeepGoing     bool   // play later stages also after a failure
	Deterministic bool   // guests of the bench lab count instructions, so that the bench is exact too
}

// Session is one run of a gate.
type Session struct {
	options Options
	started time.Time
	profile profiles.Profile // all named profiles merged
	waived  []waivers.Waiver
	before  *model.Gate // the baseline; nil without one
	stages  []*stage
	gate    *model.Gate
}

// New reads every file that the options name and plans the stages. It asks programs for their capabilities, which needs
// the bench and its privilege.
func New(o Options) (*Session, error) {
	s := &Session{options: o, started: time.Now()}
	s.gate = &model.Gate{
		Format:  FormatVersion,
		Version: build.Version(),
		Commit:  build.Commit(),
		Built:   build.Time(),
		Started: s.started.UTC().Format(time.RFC3339),
		Command: o.Command,
		Folder:  o.Folder,
		File:    o.Path,
		Subject: cmp.Or(o.Impl, o.Device),
		Peer:    cmp.Or(o.Peer, o.Impl, o.Device),
		Reasons: []string{},
		Stages:  []model.GateStage{},
		Waivers: []model.WaiverOutcome{},
		Changes: []model.GateChange{},
	}
	if err := s.find(); err != nil {
		return nil, fault.Usage(err)
	}
	for _, bench := range o.Places() {
		if err := s.plan(bench); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// find reads the files that the gate file names.
func (s *Session) find() (err error) {
	o := &s.options
	if err := o.check(); err != nil {
		return fmt.Errorf("gate: %w", err)
	}
	if s.profile, err = together(o.Profiles); err != nil {
		return err
	}
	if s.waived, err = waivers.ReadAll(o.Waivers); err != nil {
		return err
	}
	if o.Baseline != "" {
		if s.before, err = ReadBaseline(o.Baseline); err != nil {
			return err
		}
		if was := s.before.Subject; was != s.gate.Subject {
			return fmt.Errorf(
				"baseline %s: is of %.60q, and this gate of %s; make one of main with this file",
				o.Baseline,
				was,
				s.gate.Subject,
			)
		}
	}
	return nil
}

// Places returns the names of the benches, virtual time first: those of the file, or the first bench that the subject
// can run on.
func (f *File) Places() []string {
	list := slices.Clone(f.Benches)
	names := f.Impl + " " + f.Peer
	switch {
	case len(list) > 0:
	case f.Device != "" || slices.Contains(strings.Fields(names), dut.Name):
		list = []string{"lab"}
	case strings.Contains(names, scenario.Image):
		list = []string{"container"}
	case strings.Contains(names, scenario.Exec):
		list = []string{"netns"}
	default:
		list = []string{"sim"}
	}
	slices.SortStableFunc(list, func(a, b string) int { return cmp.Compare(order(a), order(b)) })
	return slices.Compact(list)
}

// order sorts virtual time before all other benches.
func order(bench string) int {
	if bench == "sim" {
		return 0
	}
	return 1
}

// together merges profiles: the rules of all of them have to hold, and the core rules of each have to be exercised.
// Without profiles, every binding rule has to hold.
func together(names []string) (profiles.Profile, error) {
	all := profiles.Profile{Name: "gate", Title: "every binding rule"}
	if len(names) == 0 {
		all.Families = families()
	}
	for _, name := range names {
		p, err := profiles.Find(name)
		if err != nil {
			return all, err
		}
		all.Families = append(all.Families, p.Families...)
		all.Declares = append(all.Declares, p.Declares...)
		all.Core = append(all.Core, p.Core...)
		all.Targets = append(all.Targets, p.Targets...)
		all.Reference = cmp.Or(all.Reference, p.Reference)
		if p.Reference != all.Reference && len(p.Targets) > 0 {
			return all, fmt.Errorf(
				"profile %s: its targets are beside %s, and those of another profile beside %s; gate them in two files",
				name,
				p.Reference,
				all.Reference,
			)
		}
	}
	return all, nil
}

// families lists the families of all rules.
func families() (all []string) {
	for _, r := range rules.All() {
		if family, _, _ := strings.Cut(r.ID, "-"); !slices.Contains(all, family) {
			all = append(all, family)
		}
	}
	return all
}

// Open makes the report folder. It refuses a folder that holds a gate.
func (s *Session) Open() error {
	dir := s.options.Folder
	if _, err := os.Stat(filepath.Join(dir, "gate.json")); err == nil {
		return fault.Usage(fmt.Errorf("gate: %s %w a gate; choose another folder or remove it", dir, run.ErrHeld))
	}
	return fault.Broken(os.MkdirAll(dir, 0o755))
}

// Run plays the stages and settles the verdict. It stops after the first stage that failed, unless told to keep going,
// and begins no run after the budget; the result lists everything left out. An error is one of the harness.
func (s *Session) Run(ctx context.Context, progress func(share float64, what string)) (*model.Gate, error) {
	failed := ""
	for i, st := range s.stages {
		began := time.Now()
		show := func(share float64, what string) {
			progress((float64(i)+share)/float64(len(s.stages)), st.out.Title()+": "+what)
		}
		if failed != "" && !s.options.KeepGoing {
			st.leave(st.all(), failed)
		} else if err := st.play(ctx, show); err != nil {
			return nil, fault.Broken(err)
		}
		st.out.Wall = time.Since(began).Seconds()
		if st.out.Status == rule.Fail.String() && failed == "" {
			failed = st.out.Title() + " failed"
		}
		s.gate.Stages = append(s.gate.Stages, st.out)
		s.gate.Ladder = cmp.Or(s.gate.Ladder, st.ladder)
		s.takeWaivers(st.waivers)
	}
	if s.before != nil {
		s.gate.Baseline, s.gate.Changes = compare(s.options.Baseline, s.before, s.gate, s.options.Margin)
	}
	s.gate.Wall = time.Since(s.started).Seconds()
	s.gate.Settle()
	if ctx.Err() != nil && s.gate.Status != rule.Fail.String() {
		s.gate.Status = model.Incomplete
	}
	return s.gate, nil
}

// takeWaivers adds the outcomes of a stage's waivers to those of the gate. A waiver keeps its first outcome that is not
// INCONCLUSIVE.
func (s *Session) takeWaivers(list []model.WaiverOutcome) {
	for _, w := range list {
		i := slices.IndexFunc(
			s.gate.Waivers,
			func(o model.WaiverOutcome) bool { return o.Rule == w.Rule && o.Impl == w.Impl && o.Reason == w.Reason },
		)
		switch {
		case i < 0:
			s.gate.Waivers = append(s.gate.Waivers, w)
		case s.gate.Waivers[i].Status == rule.Inconclusive.String():
			s.gate.Waivers[i] = w
		}
	}
}

// late returns the reason why no further run may begin, "" if one may.
func (s *Session) late(ctx context.Context) string {
	switch {
	case ctx.Err() != nil:
		return "interrupted"
	case s.options.Budget > 0 && time.Since(s.started) >= s.options.Budget:
		return fmt.Sprintf("the budget of %s was used up", s.options.Budget)
	}
	return ""
}
