package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/run"
	"github.com/rdma-gauntlet/gauntlet/conformance/profiles"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/perf/suite"
	"github.com/rdma-gauntlet/gauntlet/perf/targets"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// measure runs the targets of a profile, the implementation and the reference in turn, and takes them into q.
func (f *qualifyFlags) measure(ctx context.Context, p *profiles.Profile, b bench.Bench, q *model.Qualification) error {
	k := &f.conform
	claims, err := f.claims(p, q.Peer)
	if err != nil || len(claims) == 0 {
		return err
	}
	jobs := 1 // real runs share the machine's clock
	if k.bench == "sim" {
		jobs = runtime.GOMAXPROCS(0)
	}
	bar := newProgress(os.Stderr, !k.quiet)
	defer bar.done()
	runs := targetRuns{flags: f, bench: b}
	q.Targets, err = suite.Measure(ctx, suite.Options{Targets: claims, Seeds: f.seeds, Jobs: jobs, Confidence: 0.95, Cost: run.ExpectedPackets, Run: runs.one,
		Progress: func(share float64, what string) { bar.show(share, "targets: "+what) }})
	slices.SortFunc(runs.made, func(a, b model.ScenarioOutcome) int {
		return cmp.Or(strings.Compare(a.SpecHash, b.SpecHash), cmp.Compare(a.Seed, b.Seed))
	})
	q.TargetRuns = runs.made
	return err
}

// claims turns the targets of a profile into those of package targets, which say where each bound comes from. One claim of a
// paper may serve several.
func (f *qualifyFlags) claims(p *profiles.Profile, peer string) ([]targets.Target, error) {
	var out []targets.Target
	for i := range p.Targets {
		t, err := f.claim(p, &p.Targets[i], peer)
		if err != nil {
			return nil, fmt.Errorf("profile %s: target %s: %w", p.Name, p.Targets[i].Name, err)
		}
		if n := slices.IndexFunc(out, func(o targets.Target) bool { return o.ID == t.ID }); n >= 0 {
			out[n].Checks = append(out[n].Checks, t.Checks...)
			continue
		}
		out = append(out, t)
	}
	return out, nil
}

// claim is one of them. Where it cannot be measured, it says why and asks for nothing.
func (f *qualifyFlags) claim(p *profiles.Profile, t *profiles.Target, peer string) (targets.Target, error) {
	found, err := targets.Find(targets.All(), []string{t.Claim})
	if err != nil {
		return targets.Target{}, err
	}
	c, err := found[0].Find(t.Check)
	if err != nil {
		return targets.Target{}, err
	}
	k := &f.conform
	out := targets.Target{ID: found[0].ID, Source: found[0].Source, Class: targets.Emulated,
		Claim: fmt.Sprintf("%s; scaled down by profile %s", found[0].Claim, p.Name), Reason: found[0].Reason}
	if out.Reason, err = f.unmeasurable(t, peer); err != nil || out.Reason != "" {
		return out, err
	}
	reference := fmt.Sprintf("impl %s %s\n%s", p.Reference, p.Reference, t.Text)
	if k.peer != "" {
		reference = fmt.Sprintf("impl %s %s\n%s", p.Reference, peer, t.Text)
	}
	if k.impl == p.Reference {
		reference = "" // beside itself nothing can be seen
	}
	if out.Checks, err = found[0].Beside(c, t.Name, fmt.Sprintf("impl %s %s\n%s", k.impl, peer, t.Text), reference); len(out.Checks) == 0 {
		out.Reason = k.impl + " is the reference itself"
	}
	return out, err
}

// unmeasurable says why a target is not run, "" when it is.
func (f *qualifyFlags) unmeasurable(t *profiles.Target, peer string) (string, error) {
	k := &f.conform
	if k.dut != "" {
		return "not measured: a device is driven by perftest, whose loads are its own", nil
	}
	s, err := t.Spec()
	if err != nil {
		return "", err
	}
	s.Impl = [2]string{k.impl, peer}
	if lack := k.known.lacks(s); lack != "" {
		return "NOT-APPLICABLE: " + lack, nil
	}
	return "", nil
}

// targetRuns makes the runs of targets, and keeps what they were: many, and several at once in virtual time.
type targetRuns struct {
	flags *qualifyFlags
	bench bench.Bench
	mu    sync.Mutex
	made  []model.ScenarioOutcome
}

// one makes a run for its numbers.
func (t *targetRuns) one(ctx context.Context, s *scenario.Spec) (targets.Run, error) {
	k := &t.flags.conform
	var impls [2]engine.Implementation
	for side, name := range s.Impl {
		var err error
		if impls[side], err = k.known.find(name); err != nil {
			return targets.Run{}, err
		}
	}
	r, err := numbers(ctx, run.Options{Spec: s, Bench: t.bench, Name: k.bench, Impls: impls, Codec: run.CodecAuto, Link: k.link, Version: version(), Commit: commit()}, k.attempts)
	t.keep(r)
	return targets.Run{Summary: r.Summary, Spec: s}, err
}

// keep notes the last attempt of a run.
func (t *targetRuns) keep(r *model.Result) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.made = append(t.made, model.ScenarioOutcome{Name: strings.Join(unique(r.Impl[:]), " with "), Title: "run of a target", Status: r.Status, Reason: r.Reason, Seed: r.Seed,
		SpecHash: r.SpecHash, Certificates: r.Certificates})
}
