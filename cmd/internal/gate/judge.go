package gate

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/matrix"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/qualify"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/registry"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/run"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/suite"
	"github.com/rdma-gauntlet/gauntlet/perf/metrics"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// repeats is how often a failed Spec is run again in real time: a defect fails each time, a flaky test does not.
const repeats = 2

// played is a scenario with the outcome of its run.
type played struct {
	outcome *suite.Outcome
	result  *model.Result // of the last attempt; nil when nothing was run
	repeats []string      // statuses of the further runs of a scenario that failed
}

// judging is a stage while its scenarios are played.
type judging struct {
	*stage
	evidence *qualify.Evidence
	runs     []model.GateRun // in the order of the outcomes

	mu      sync.Mutex
	results map[string]*model.Result // of scenarios in progress, by implementation and name
}

// judge plays the scenarios of the stage: in virtual time all of them, several at once; otherwise one after the other,
// until one fails.
func (st *stage) judge(ctx context.Context, show func(float64, string)) {
	j := &judging{
		stage:    st,
		evidence: qualify.NewEvidence(&st.profile, st.session),
		results:  map[string]*model.Result{},
	}
	st.session.View = qualify.Own(&st.session.Options)
	st.session.Judged, st.session.Ended = j.evidence.Judged, j.ended
	var left []suite.Spec
	var why string
	if st.session.Bench == "sim" {
		left, why = j.together(ctx, show)
	} else {
		left, why = j.oneByOne(ctx, show)
	}
	st.leave(names(left), why)
	j.conclude()
}

// ended keeps the parts that take needs of the result of a scenario's last attempt.
func (j *judging) ended(impl, scenario string, r *model.Result) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.results[impl+" "+scenario] = &model.Result{
		Certificates: r.Certificates,
		Environment:  r.Environment,
		Ladders:      r.Ladders,
		Summary:      r.Summary,
	}
}

// once plays a scenario once.
func (j *judging) once(ctx context.Context, s suite.Spec) *played {
	o := j.alone.Play(ctx, s)
	j.mu.Lock()
	defer j.mu.Unlock()
	p := &played{outcome: o, result: j.results[s.Impl+" "+s.Scenario]}
	delete(j.results, s.Impl+" "+s.Scenario)
	return p
}

// together plays all scenarios in virtual time, several at once, and returns those left out. The order of the outcomes
// is that of the scenarios, however many run at once.
func (j *judging) together(ctx context.Context, show func(float64, string)) (left []suite.Spec, why string) {
	specs := j.alone.Specs
	all := make([]*played, len(specs))
	var mu sync.Mutex
	done := 0
	matrix.Each(len(specs), j.gate.options.Jobs, func(i int) {
		if j.gate.late(ctx) != "" {
			return
		}
		all[i] = j.once(ctx, specs[i])
		mu.Lock()
		defer mu.Unlock()
		done++
		show(float64(done)/float64(len(specs)), specs[i].Scenario)
	})
	for i, p := range all {
		if p == nil {
			left = append(left, specs[i])
			continue
		}
		j.take(p)
	}
	return left, j.gate.late(ctx)
}

// oneByOne plays scenarios in real time, those first that exercise most rules, and returns those left out. It repeats a
// scenario that fails, to tell a flaky failure from a defect, and then ends the stage.
func (j *judging) oneByOne(ctx context.Context, show func(float64, string)) (left []suite.Spec, why string) {
	specs := mostLabelsFirst(j.alone.Specs)
	for i, s := range specs {
		if why := j.gate.late(ctx); why != "" {
			return specs[i:], why
		}
		show(float64(i)/float64(len(specs)), s.Scenario)
		p := j.once(ctx, s)
		failed := p.outcome.Status == rule.Fail
		for n := 0; failed && n < repeats && j.gate.late(ctx) == ""; n++ {
			p.repeats = append(p.repeats, j.again(ctx, s, p.outcome.Folder))
		}
		j.take(p)
		if failed && !j.gate.options.KeepGoing {
			return specs[i+1:], s.Scenario + " failed"
		}
	}
	return nil, ""
}

// again runs a Spec once more and returns the status. It moves the run folder of the first run away meanwhile, so that
// the repetition does not overwrite it.
func (j *judging) again(ctx context.Context, s suite.Spec, folder string) string {
	first := folder + ".first"
	if folder != "" && os.Rename(folder, first) == nil {
		defer func() {
			_ = os.RemoveAll(folder) // a folder that cannot be removed stays
			_ = os.Rename(first, folder)
		}()
	}
	return j.once(ctx, s).outcome.Status.String()
}

// take counts the outcome of a scenario, and deletes the run folder of one that passed or did not apply.
func (j *judging) take(p *played) {
	o := p.outcome
	if o.Folder != "" && (o.Passed() || o.Status == rule.NotApplicable) {
		j.forget(o)
	}
	r := model.GateRun{Repeats: p.repeats}
	if p.result != nil {
		j.evidence.Ended(o.Impl, o.Scenario, p.result)
		if j.out.Exact {
			r.Numbers = exact(&p.result.Summary)
		}
		j.draw(p)
	}
	for _, v := range o.Verdicts {
		if v.Status == rule.Fail && v.Required {
			r.Broken = append(r.Broken, v.Rule)
		}
	}
	j.runs = append(j.runs, r)
	j.session.Observe(o)
}

// forget removes the run folders of a scenario, those of INVALID attempts included.
func (j *judging) forget(o *suite.Outcome) {
	first := filepath.Join(j.session.Folder, registry.Short(o.Impl), filepath.FromSlash(o.Scenario))
	for _, dir := range run.AttemptFolders(first, j.session.Attempts) {
		_ = os.RemoveAll(dir) // a folder that cannot be removed stays
	}
	o.Folder = ""
}

// draw keeps the first ladder of a required rule that failed.
func (j *judging) draw(p *played) {
	if j.ladder != nil || p.outcome.Status != rule.Fail {
		return
	}
	for _, l := range p.result.Ladders {
		if slices.ContainsFunc(
			p.outcome.Verdicts,
			func(v suite.Verdict) bool { return v.Rule == l.Rule && v.Required && v.Status == rule.Fail },
		) {
			j.ladder = &model.GateLadder{Stage: j.out.Title(), Run: p.outcome.Scenario, Rule: l.Rule, Text: l.Text}
			return
		}
	}
}

// conclude sums up the outcomes of the scenarios in the result of the stage.
func (j *judging) conclude() {
	q := j.evidence.Qualification()
	q.Settle()
	for i := range q.Scenarios {
		j.runs[i].ScenarioOutcome = q.Scenarios[i]
	}
	j.out.Rules, j.out.Runs, j.waivers = q.Rules, j.runs, q.Waivers
	j.out.Status, j.out.Reasons = q.Status, q.Reasons
	if q.Status == rule.Inconclusive.String() && len(j.out.Left) > 0 {
		j.out.Status = model.Incomplete
		j.out.Reasons = append(j.out.Reasons, j.out.Why+" before all was seen that has to be; give it a greater budget")
	}
}

// exact returns the numbers of a run in virtual time. They are reproducible, so any difference is a change of the
// program.
func exact(s *metrics.Summary) (out []model.GateNumber) {
	for _, n := range model.Counts(s) {
		out = append(out, model.GateNumber{Name: n.Name, Value: n.Value})
	}
	return out
}
