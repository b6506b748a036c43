package gate

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/conform"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/matrix"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/qualify"
	"github.com/rdma-gauntlet/gauntlet/conformance/profiles"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/scenarios"
	"github.com/rdma-gauntlet/gauntlet/conformance/suite"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// stage is a part of a gate: the scenarios or the numbers of one purpose on one bench.
type stage struct {
	gate    *Session
	profile profiles.Profile // whose rules have to hold; stages after the first have no core rules
	session *conform.Session // the implementations under test and the bench
	alone   *suite.Alone     // scenarios or links; nil in a stage of numbers
	measure measuring
	numbers []string // titles of the numbers, for a stage that is left out

	out     model.GateStage
	ladder  *model.GateLadder
	waivers []model.WaiverOutcome
}

// plan adds the stages of a bench: conformance, links and numbers, in this order.
func (s *Session) plan(bench string) error {
	if bench == "remote" {
		return fault.Usage(
			fmt.Errorf("bench remote: a device on a host of a testbed is qualified; see: gauntlet help qualify"),
		)
	}
	first, err := s.playing("conformance", bench, nil, s.filter())
	if err != nil {
		return err
	}
	links, err := s.links()
	if err != nil {
		return fault.Usage(err)
	}
	if len(links) > 0 {
		if _, err := s.playing("links", bench, links, ""); err != nil {
			return err
		}
	}
	return s.measuring(first, links)
}

// filter returns the label filter of the scenarios: those of the profiles' families that the file selects.
func (s *Session) filter() string {
	var parts []string
	if len(s.options.Profiles) > 0 {
		parts = append(parts, s.profile.Filter())
	}
	if s.options.Scenarios != "" {
		parts = append(parts, s.options.Scenarios)
	}
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return "(" + strings.Join(parts, ") && (") + ")"
}

// playing adds a stage of scenarios. A nil list stands for the scenarios that come with the program.
func (s *Session) playing(name, bench string, list []scenarios.Scenario, filter string) (*stage, error) {
	o := &s.options
	c := conform.Options{
		Impl:      o.Impl,
		Peer:      o.Peer,
		Device:    o.Device,
		Bench:     bench,
		Link:      o.Link,
		Attempts:  conform.Attempts,
		Folder:    filepath.Join(o.Folder, bench, name),
		Select:    suite.Options{LabelFilter: filter},
		Scenarios: list,
	}
	if list != nil {
		c.Command = func(impl, link string) string { return o.overLink(bench, impl, link) }
	}
	session, err := conform.New(c)
	if err != nil {
		return nil, err
	}
	if err := session.Runner.Open(); err != nil {
		return nil, err
	}
	alone, err := session.Alone(s.waived)
	if err != nil {
		return nil, err
	}
	if err := qualify.NewEvidence(&s.profile, session).Eligible(); err != nil {
		return nil, fault.Usage(err)
	}
	profile := s.profile
	if len(s.stages) > 0 {
		profile.Core = nil // the first stage has exercised them
	}
	st := &stage{gate: s, profile: profile, session: session, alone: alone, out: s.empty(name, session.Bench)}
	s.stages = append(s.stages, st)
	return st, nil
}

// overLink returns the command that repeats the run of an implementation over a link of the file on a bench.
func (f *File) overLink(bench, impl, link string) string {
	for _, name := range f.Links {
		if strings.TrimSuffix(filepath.Base(name), ".txt") == link {
			link = name
		}
	}
	if f.Peer != "" {
		impl += "+" + f.Peer
	}
	return fmt.Sprintf("gauntlet matrix --impl %s --links %s --bench %s", impl, link, bench)
}

// empty returns a stage in which nothing has been run yet.
func (s *Session) empty(name, bench string) model.GateStage {
	return model.GateStage{
		Name:    name,
		Bench:   bench,
		Exact:   bench == "sim" || bench == "lab" && s.options.Deterministic,
		Status:  rule.Pass.String(),
		Reasons: []string{},
	}
}

// links returns the links of the file as scenarios. A device has none: it is driven by tools with workloads of their
// own.
func (s *Session) links() (list []scenarios.Scenario, err error) {
	o := &s.options
	names := o.Links
	switch {
	case o.Device != "" && len(names) > 0:
		return nil, fmt.Errorf(
			"links: device %s is driven by tools, whose loads are their own; leave the line out",
			o.Device,
		)
	case o.Device != "", len(names) == 1 && names[0] == "none":
		return nil, nil
	case len(names) == 0:
		names = matrix.LinkNames()
	}
	for _, name := range names {
		link, err := matrix.FindLink(name)
		if err != nil {
			return nil, err
		}
		spec, err := matrix.Spec(link, []string{"seed 1"})
		if err != nil {
			return nil, err
		}
		list = append(list, scenarios.Scenario{Name: link.Name, Title: link.Title, Text: spec.String()})
	}
	return list, nil
}

// all returns the names of everything that the stage would run.
func (st *stage) all() []string {
	if st.alone == nil {
		return st.numbers
	}
	return names(st.alone.Specs)
}

// names returns the names of the scenarios.
func names(specs []suite.Spec) (out []string) {
	for _, s := range specs {
		out = append(out, s.Scenario)
	}
	return out
}

// leave lists names as left out, with the reason. A stage in which nothing was run becomes NOT-APPLICABLE.
func (st *stage) leave(what []string, why string) {
	if len(what) == 0 {
		return
	}
	st.out.Left, st.out.Why = append(st.out.Left, what...), why
	if len(st.out.Runs) == 0 && st.out.Numbers == nil {
		st.out.Status = rule.NotApplicable.String()
	}
}

// play runs the stage.
func (st *stage) play(ctx context.Context, show func(float64, string)) error {
	if st.alone == nil {
		return st.measured(ctx, show)
	}
	st.judge(ctx, show)
	return nil
}
