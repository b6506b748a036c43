package qualify

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/build"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/claims"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/conform"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/run"
	"github.com/rdma-gauntlet/gauntlet/conformance/profiles"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/perf/suite"
	"github.com/rdma-gauntlet/gauntlet/perf/targets"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// measurement measures the targets of a profile.
type measurement struct {
	profile *profiles.Profile
	session *conform.Session // the implementations under test and the bench
	peer    string           // the implementation at B
	seeds   int
	idle    float64 // see bench.Job.Idle; 0 for the bench's own limit

	// mu guards made: in virtual time several runs are made at once.
	mu   sync.Mutex
	made []model.ScenarioOutcome // one for each run made
}

// Measure measures the targets of a profile, with seeds runs each, and adds the numbers and the runs to q.
func Measure(ctx context.Context, p *profiles.Profile, session *conform.Session, seeds int, q *model.Qualification,
	progress func(share float64, what string)) error {
	m := measurement{profile: p, session: session, peer: q.Peer, seeds: seeds}
	return fault.Broken(m.run(ctx, q, progress))
}

// run measures the targets, on the subject and the reference in turn, and adds them to q.
func (m *measurement) run(ctx context.Context, q *model.Qualification,
	progress func(share float64, what string)) error {
	claimed, err := m.claims()
	if err != nil || len(claimed) == 0 {
		return err
	}
	jobs := 1 // runs in real time would disturb each other
	if m.session.Bench == "sim" {
		jobs = runtime.GOMAXPROCS(0)
	}
	q.Targets, err = suite.Measure(ctx, suite.Options{Targets: claimed, Seeds: m.seeds, Jobs: jobs, Confidence: 0.95,
		Cost: m.cost, Run: m.one,
		Progress: func(share float64, what string) { progress(share, "targets: "+what) }})
	slices.SortFunc(m.made, func(a, b model.ScenarioOutcome) int {
		return cmp.Or(strings.Compare(a.SpecHash, b.SpecHash), cmp.Compare(a.Seed, b.Seed))
	})
	q.TargetRuns = m.made
	return err
}

// claims converts the targets of the profile to claims of package targets, which have the sources of the bounds.
// Targets of the same claim become one.
func (m *measurement) claims() ([]targets.Target, error) {
	var out []targets.Target
	p := m.profile
	for i := range p.Targets {
		t, err := m.claim(&p.Targets[i])
		if err != nil {
			return nil, fmt.Errorf("profile %s: target %s: %w", p.Name, p.Targets[i].Name, err)
		}
		if n := slices.IndexFunc(out, func(o targets.Target) bool { return o.ID == t.ID }); n >= 0 {
			out[n].Checks = append(out[n].Checks, t.Checks...)
			continue
		}
		out = append(out, t)
	}
	m.idle = idle(out)
	return out, nil
}

// idle returns the share of a run for which the machine may keep an end waiting: half of what the closest comparison
// leaves between an implementation and the reference. More could decide the comparison in place of the implementation.
// It is 0, for the bench's own limit, where nothing is compared.
func idle(claimed []targets.Target) float64 {
	least := 0.0
	for i := range claimed {
		for k := range claimed[i].Checks {
			if c := &claimed[i].Checks[k]; len(c.Runs) > 1 {
				least = max(least, c.Bound.Low)
			}
		}
	}
	if least == 0 {
		return 0
	}
	return (1 - least) / 2
}

// claim converts one target. A target that cannot be measured has a reason and no checks.
func (m *measurement) claim(t *profiles.Target) (targets.Target, error) {
	found, err := targets.Find(targets.All(), []string{t.Claim})
	if err != nil {
		return targets.Target{}, err
	}
	c, err := found[0].Find(t.Check)
	if err != nil {
		return targets.Target{}, err
	}
	p := m.profile
	out := targets.Target{ID: found[0].ID, Source: found[0].Source, Class: targets.Emulated,
		Claim: fmt.Sprintf("%s; scaled down by profile %s", found[0].Claim, p.Name), Reason: found[0].Reason}
	if out.Reason, err = m.unmeasurable(t); err != nil || out.Reason != "" {
		return out, err
	}
	reference := fmt.Sprintf("impl %s %s\n%s", p.Reference, p.Reference, t.Text)
	if m.session.Peer != "" {
		reference = fmt.Sprintf("impl %s %s\n%s", p.Reference, m.peer, t.Text)
	}
	if m.session.Impl == p.Reference {
		reference = "" // compared with itself the subject would always be equal
	}
	if out.Checks, err = found[0].Beside(c, t.Name, fmt.Sprintf("impl %s %s\n%s", m.session.Impl, m.peer, t.Text),
		reference); len(out.Checks) == 0 {
		out.Reason = m.session.Impl + " is the reference itself"
	}
	return out, err
}

// unmeasurable returns the reason why a target is not measured, "" when it is.
func (m *measurement) unmeasurable(t *profiles.Target) (string, error) {
	if m.session.Device != "" {
		return "not measured: a device is driven by perftest, whose loads are its own", nil
	}
	s, err := t.Spec()
	if err != nil {
		return "", err
	}
	s.Impl = [2]string{m.session.Impl, m.peer}
	if lack := m.session.Known.Lacks(s); lack != "" {
		return "NOT-APPLICABLE: " + lack, nil
	}
	return "", nil
}

// cost estimates the work of a run, in packets.
func (m *measurement) cost(s *scenario.Spec) float64 {
	impls, _ := m.session.Known.Both(s) // an unknown one is the error of the run
	return run.ExpectedPackets(s, impls)
}

// one makes one run for its numbers.
func (m *measurement) one(ctx context.Context, s *scenario.Spec) (targets.Run, error) {
	impls, err := m.session.Known.Both(s)
	if err != nil {
		return targets.Run{}, err
	}
	m.session.Bound(s)
	r, err := claims.Numbers(ctx, run.Options{Spec: s, Bench: m.session.Runner, Name: m.session.Bench, Impls: impls,
		Codec: run.CodecAuto, Link: m.session.Link,
		Still: vtime.FromStd(m.session.Still), Dilate: m.session.Dilate, Idle: m.idle,
		Version: build.Version(), Commit: build.Commit()}, m.session.Attempts)
	m.keep(r)
	return targets.Run{Summary: r.Summary, Spec: s}, err
}

// keep records the last attempt at a run.
func (m *measurement) keep(r *model.Result) {
	m.mu.Lock()
	defer m.mu.Unlock()
	fault := ""
	if r.Fault != nil && r.Fault.Program == m.session.Impl {
		fault = r.Fault.Side
	}
	m.made = append(m.made, model.ScenarioOutcome{Name: strings.Join(slices.Compact(slices.Clone(r.Impl[:])), " with "),
		Title:  "run of a target",
		Status: r.Status, Reason: r.Reason, State: r.State, Fault: fault, Seed: r.Seed,
		SpecHash: r.SpecHash, Certificates: r.Certificates})
}
