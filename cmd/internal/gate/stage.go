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

// stage is what is run on one bench for one purpose.
type stage struct {
	gate    *Session
	profile profiles.Profile // whose rules have to hold; only the first stage has core rules
	session *conform.Session // who is judged, and on which bench
	alone   *suite.Alone     // scenarios or links; nil of numbers
	measure measuring
	numbers []string // what is measured, for when it is left out

	out     model.GateStage
	ladder  *model.GateLadder
	waivers []model.WaiverOutcome
}

// plan adds the stages of a bench: conformance, then links, then numbers.
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

// filter selects the scenarios: of the families of the profiles, those that the file wants.
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

// playing adds a stage of scenarios; nil is those that come with the program.
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
		profile.Core = nil // the first stage has shown them
	}
	st := &stage{gate: s, profile: profile, session: session, alone: alone, out: s.empty(name, session.Bench)}
	s.stages = append(s.stages, st)
	return st, nil
}

// overLink is the command that runs an implementation over one of the links again, on a bench.
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

// empty is a stage of which nothing has been run.
func (s *Session) empty(name, bench string) model.GateStage {
	return model.GateStage{
		Name:    name,
		Bench:   bench,
		Exact:   bench == "sim" || bench == "lab" && s.options.Deterministic,
		Status:  rule.Pass.String(),
		Reasons: []string{},
	}
}

// links are the links of the file as scenarios. A device has none: it is driven by tools, whose loads are their own.
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

// all is everything that the stage would run.
func (st *stage) all() []string {
	if st.alone == nil {
		return st.numbers
	}
	return names(st.alone.Specs)
}

// names of specs, as people write them.
func names(specs []suite.Spec) (out []string) {
	for _, s := range specs {
		out = append(out, s.Scenario)
	}
	return out
}

// leave notes what was not run. A stage that ran nothing says so by its status.
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
