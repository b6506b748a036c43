package qualify

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/build"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/conform"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/run"
	"github.com/rdma-gauntlet/gauntlet/conformance/profiles"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/rules"
	"github.com/rdma-gauntlet/gauntlet/conformance/suite"
	"github.com/rdma-gauntlet/gauntlet/conformance/waivers"
	"github.com/rdma-gauntlet/gauntlet/harness/dut"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Evidence sums up the outcomes of scenarios by the rules of a profile.
type Evidence struct {
	profile   *profiles.Profile
	session   *conform.Session // the session that plays the scenarios
	scenarios []model.ScenarioOutcome
	findings  map[[2]string]string // the first finding, by rule and implementation
	// by rule and implementation, the reason why there is no verdict, or the waiver that applies
	reasons map[[2]string]string
	results map[[2]string]*model.Result
	facts   []model.Fact // about the machine, from the first run
}

// NewEvidence returns empty evidence. The session must call its methods Ended and Judged.
func NewEvidence(p *profiles.Profile, session *conform.Session) *Evidence {
	return &Evidence{profile: p, session: session, findings: map[[2]string]string{}, reasons: map[[2]string]string{},
		results: map[[2]string]*model.Result{}}
}

// Eligible returns an error when the subject does not declare the features of the profile: all its rules would be
// NOT-APPLICABLE.
func (e *Evidence) Eligible() error {
	for _, c := range e.capabilities() {
		if f := e.profile.Missing(c.Features); f != "" && c.Name == subject(&e.session.Options) {
			return fmt.Errorf("profile %s: %s does not declare %s, which the profile is about; it declares %s",
				e.profile.Name, c.Name, f, strings.Join(c.Features, " "))
		}
	}
	return nil
}

// Ended records the last attempt at a scenario. It is called before Judged with the outcome.
func (e *Evidence) Ended(impl, scenario string, r *model.Result) {
	e.results[[2]string{impl, scenario}] = &model.Result{Certificates: r.Certificates}
	if len(e.facts) == 0 {
		e.facts = r.Environment
	}
}

// Judged records an outcome.
func (e *Evidence) Judged(o *suite.Outcome) {
	s := model.ScenarioOutcome{Name: o.Scenario, Title: o.Title, Role: e.role(o.Impl), Status: o.Status.String(),
		Reason: o.Reason, State: o.State, Fault: o.Fault, Seed: o.Seed,
		SpecHash: o.SpecHash, Folder: o.Folder, Again: e.session.Again(o.Impl, o.Scenario)}
	if r := e.results[[2]string{o.Impl, o.Scenario}]; r != nil {
		s.Certificates = r.Certificates
	}
	e.scenarios = append(e.scenarios, s)
	if o.Status == rule.Error {
		return // the findings of a run that broke prove nothing
	}
	for _, f := range o.Findings {
		note(e.findings, f.Rule, o.Impl, fmt.Sprintf("%s: %s (%s)", o.Scenario, f.Line(), f.Blame))
	}
	for _, v := range o.Verdicts {
		note(e.reasons, v.Rule, o.Impl, v.Reason)
	}
}

// note keeps the first text for a rule and an implementation.
func note(into map[[2]string]string, id, impl, text string) {
	if key := [2]string{id, impl}; into[key] == "" {
		into[key] = text
	}
}

// role returns the role of a device, which is judged in two; "" for an implementation.
func (e *Evidence) role(impl string) string {
	if e.session.Device == "" {
		return ""
	}
	return strings.TrimPrefix(impl, e.session.Device+"-")
}

// Qualification returns the qualification after all scenarios have been run.
func (e *Evidence) Qualification() *model.Qualification {
	e.session.Settle()
	q := &model.Qualification{Format: model.FormatVersion, Version: build.Version(), Commit: build.Commit(),
		Bench:   e.session.Bench,
		Profile: e.profile.Name, ProfileHash: e.profile.Hash(), RulesHash: rules.Hash(), Title: e.profile.Title,
		Subject: subject(&e.session.Options), Peer: cmp.Or(e.session.Peer, subject(&e.session.Options)),
		Reference:    e.profile.Reference,
		Capabilities: e.capabilities(), Environment: e.facts, Scenarios: e.scenarios}
	for _, r := range rules.All() {
		for _, impl := range e.session.Impls {
			if o := e.outcome(&r, impl); o != nil {
				q.Rules = append(q.Rules, *o)
			}
		}
	}
	q.Waivers = e.waivers()
	return q
}

// outcome returns the result of a rule over all scenarios; nil for a rule that is neither required nor judged.
func (e *Evidence) outcome(r *rule.Rule, impl string) *model.RuleOutcome {
	core := e.profile.IsCore(r.ID)
	required := core || e.profile.Requires(r.ID, r.Level)
	o := &model.RuleOutcome{Rule: r.ID, Level: r.Level, Title: r.Title, Source: r.Source, Role: e.role(impl),
		Required: required, Core: core}
	key := [2]string{r.ID, impl}
	c := e.session.Table.Cell(r.ID, impl)
	switch {
	case c == nil && !required:
		return nil
	case c == nil:
		o.Status, o.Reason = rule.NotApplicable.String(), e.foreign(r, impl)
		return o
	}
	o.Status, o.Judged, o.Met, o.Total, o.Broken = c.Status.String(), c.Judged(), c.Met, c.Total, c.Broken
	switch c.Status {
	case rule.Inconclusive:
		o.Reason = cmp.Or(e.reasons[key], "its situation did not arise: "+r.Stimulus)
	case rule.Pass:
	case rule.XPass:
		o.Reason = "waived, but no scenario broke it: the waiver must go"
	default:
		o.Finding, o.Reason = e.findings[key], e.reasons[key]
	}
	if o.Finding != "" {
		o.Explain = rule.Explain(r.ID)
	}
	return o
}

// foreign returns the reason why a required rule applied to no scenario.
func (e *Evidence) foreign(r *rule.Rule, impl string) string {
	switch declared := e.session.Declarations()[impl]; {
	case e.session.Device != "":
	case r.Device:
		return "an implementation has no counters"
	case !r.AppliesTo(declared):
		return "the implementation does not declare " + strings.Join(r.Features, " ")
	}
	return "no scenario that the implementation can take part in is about it"
}

// waivers returns the outcomes of the waivers that name the subject.
func (e *Evidence) waivers() []model.WaiverOutcome {
	out := []model.WaiverOutcome{}
	for _, w := range e.session.Waived {
		named, status := false, rule.Inconclusive
		for _, r := range rules.All() {
			for _, impl := range e.session.Impls {
				if waivers.Covering([]waivers.Waiver{w}, r.ID, waivers.Device{Names: []string{impl},
					Kernel: e.session.Kernel}) == nil {
					continue
				}
				named = true
				if c := e.session.Table.Cell(r.ID, impl); c != nil {
					status = max(status, c.Stands(&w))
				}
			}
		}
		if named {
			o := model.WaiverOutcome{Rule: w.Rule, Impl: w.Impl, Owner: w.Owner, Expires: w.Expires, Reason: w.Reason,
				Status: status.String()}
			if w.Expires < run.Today() {
				o.Status = model.Expired
			}
			out = append(out, o)
		}
	}
	return out
}

// capabilities returns the declarations of the ends, the subject first.
func (e *Evidence) capabilities() (out []model.Capabilities) {
	if e.session.Device != "" {
		d := dut.Describe(e.session.Device)
		return []model.Capabilities{capabilitiesOf(&d, nil)}
	}
	names := []string{e.session.Impl}
	if e.session.Peer != "" && e.session.Peer != e.session.Impl {
		names = append(names, e.session.Peer)
	}
	for _, name := range names {
		if i, err := e.session.Known.Find(name); err == nil { // the session has found all of them
			var said any
			if caps := e.session.Known[name]; caps != nil {
				said = caps
			}
			out = append(out, capabilitiesOf(&i, said))
		}
	}
	return out
}

func capabilitiesOf(i *engine.Implementation, said any) model.Capabilities {
	c := model.Capabilities{Name: i.Name, Title: i.Title, Source: i.Source, Features: i.Declares(),
		Params: []string{}, Said: said}
	for _, p := range i.Params {
		c.Params = append(c.Params, p.Name)
	}
	return c
}
