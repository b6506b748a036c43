package matrix

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/run"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Broken is an engine with a deliberate defect, the correct engine beside it, and the scenarios that expose the defect.
type Broken struct {
	Family       string
	Name, Breaks string
	Catches      []string // rules that must fail on Impl and not on Right
	Scenarios    []string
	Stimulus     func(scenario string) (string, error) // returns the text of a scenario
	Impl, Right  engine.Implementation
}

// verdicts are the verdicts of one run, by rule ID.
type verdicts map[string]rule.Verdict

// RunAndHunt runs all cells and then, unless ctx has ended, the broken engines. Between the two it calls turn.
func RunAndHunt(ctx context.Context, o Options, engines []Broken, turn func()) *model.Matrix {
	m := Run(ctx, o)
	if ctx.Err() == nil {
		turn()
		// broken engines run in virtual time, whatever the bench of the cells
		o.Jobs = max(o.Jobs, runtime.GOMAXPROCS(0))
		m.Kills = Hunt(ctx, o, engines)
		m.Settle()
	}
	return m
}

// Hunt runs every broken engine over its scenarios in virtual time, o.Jobs of them at once, and returns which rules
// caught it. An engine counts as killed when each rule in its Catches fails on it and passes on the correct engine.
func Hunt(ctx context.Context, o Options, broken []Broken) []model.Kill {
	h := &hunt{options: &o}
	kills := make([]model.Kill, len(broken))
	Each(len(broken), o.Jobs, func(i int) {
		kills[i] = h.kill(ctx, &broken[i])
		h.done(len(broken), broken[i].Name)
	})
	return kills
}

// hunt is the state shared by the workers of Hunt.
type hunt struct {
	options *Options
	// mu guards ended and the calls of Progress.
	mu    sync.Mutex
	ended int // broken engines done
}

func (h *hunt) done(total int, name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended++
	if h.options.Progress != nil {
		h.options.Progress(float64(h.ended)/float64(total), "broken "+name)
	}
}

// kill runs one broken engine and its correct counterpart.
func (h *hunt) kill(ctx context.Context, b *Broken) model.Kill {
	k := model.Kill{Family: b.Family, Name: b.Name, Breaks: b.Breaks, Status: rule.Fail.String()}
	found := map[string]bool{}
	for _, name := range b.Scenarios {
		wrong, err := h.judge(ctx, b, name, b.Impl)
		if err == nil {
			var right verdicts
			right, err = h.judge(ctx, b, name, b.Right)
			for _, id := range b.Catches {
				w, r := wrong[id], right[id]
				found[id] = found[id] || w.Tells(&r)
			}
		}
		if err != nil {
			k.Status, k.Reason, k.Missed = rule.Error.String(), fmt.Sprintf("%s: %v", name, err), b.Catches
			return k
		}
	}
	for _, id := range b.Catches {
		if found[id] {
			k.Caught = append(k.Caught, id)
			continue
		}
		k.Missed, k.Status = append(k.Missed, id), rule.Pass.String()
	}
	return k
}

// judge runs one scenario with the same engine at both ends. A broken engine may never finish its work; its verdicts
// then cover the part that it did. Runs are reproducible and number in the hundreds, so no run folder is kept.
func (h *hunt) judge(ctx context.Context, b *Broken, name string, impl engine.Implementation) (verdicts, error) {
	o := h.options
	text, err := b.Stimulus(name)
	if err != nil {
		return nil, err
	}
	s, err := scenario.Parse(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	s.Impl = [2]string{impl.Name, impl.Name}
	r, err := run.Execute(ctx, run.Options{
		Spec: s, Bench: sim.Bench{}, Name: "sim", Impls: [2]engine.Implementation{impl, impl}, Rules: o.Rules,
		Codec: run.CodecOn, Version: o.Version, Commit: o.Commit,
	})
	if err != nil {
		return nil, err
	}
	all := verdicts{}
	for _, v := range r.Verdicts {
		all[v.Rule] = v
	}
	return all, nil
}
