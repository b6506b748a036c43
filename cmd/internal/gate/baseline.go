package gate

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/perf/stats"
	"github.com/rdma-gauntlet/gauntlet/perf/suite"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// mostBaseline bounds the file of a baseline, in bytes. It holds no traces, so a longer one is not a baseline.
const mostBaseline = 64 << 20

// falseAlarms is the probability, over all numbers of a gate together, that an unchanged number is called better or
// worse.
const falseAlarms = 0.01

// ReadBaseline reads the gate.json of an earlier gate.
func ReadBaseline(path string) (*model.Gate, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("baseline: %w; keep the gate.json of a gate of main, or take the line out", err)
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, mostBaseline+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("baseline: %w", err)
	case len(text) > mostBaseline:
		return nil, fmt.Errorf(
			"baseline %s: longer than %d bytes; want a gate.json that gate wrote",
			path,
			mostBaseline,
		)
	}
	var g model.Gate
	if err := json.Unmarshal(text, &g); err != nil {
		return nil, fmt.Errorf("baseline %s: %w; want a gate.json that gate wrote", path, err)
	}
	switch {
	case g.Format != FormatVersion:
		return nil, fmt.Errorf("baseline %s: format %d; this program reads %d", path, g.Format, FormatVersion)
	case len(g.Stages) == 0:
		return nil, fmt.Errorf("baseline %s: no stages; want a gate.json that gate wrote", path)
	}
	return &g, nil
}

// compare lists the changes since an earlier gate. Stages, runs and numbers that only one of the two has are not
// compared.
func compare(path string, before, now *model.Gate, margin float64) (*model.GateBaseline, []model.GateChange) {
	d := &difference{margin: margin, changes: []model.GateChange{}}
	for i := range now.Stages {
		s := &now.Stages[i]
		k := slices.IndexFunc(
			before.Stages,
			func(o model.GateStage) bool { return o.Title() == s.Title() && o.Exact == s.Exact },
		)
		if k >= 0 {
			d.stage = s.Title()
			d.runs(&before.Stages[k], s)
			d.numbers(before.Stages[k].Numbers, s)
		}
	}
	return &model.GateBaseline{
		File:    path,
		Version: before.Version,
		Commit:  before.Commit,
		Started: before.Started,
	}, d.changes
}

// difference collects the changes between two gates.
type difference struct {
	margin  float64
	stage   string
	changes []model.GateChange
}

func (d *difference) add(k model.GateKind, what, format string, args ...any) {
	d.changes = append(
		d.changes,
		model.GateChange{Kind: k, Stage: d.stage, What: what, Text: fmt.Sprintf(format, args...)},
	)
}

// runs compares a stage with the same stage of the baseline: the failures of each run, by rule, and the numbers of runs
// with the same Spec.
func (d *difference) runs(before, now *model.GateStage) {
	failing, fixed := newTally(), newTally()
	other := 0
	for i := range now.Runs {
		r := &now.Runs[i]
		k := slices.IndexFunc(before.Runs, func(o model.GateRun) bool { return o.Name == r.Name && o.Role == r.Role })
		switch {
		case k < 0:
			failing.add(failures(r), nil, r.Name)
		case before.Runs[k].SpecHash != r.SpecHash:
			other++
			failing.add(failures(r), failures(&before.Runs[k]), r.Name)
		default:
			was := &before.Runs[k]
			failing.add(failures(r), failures(was), r.Name)
			fixed.add(failures(was), failures(r), r.Name)
			d.exact(was, r)
		}
	}
	for _, what := range failing.order {
		d.add(model.NewFailure, what, "in %s", some(failing.where[what]))
	}
	for _, what := range fixed.order {
		d.add(model.Fixed, what, "in %s", some(fixed.where[what]))
	}
	if other > 0 {
		d.add(model.Uncompared, "numbers", "%d runs have another Spec than those of the baseline", other)
	}
}

// failures lists what counts against the subject in a run: the broken rules, a fault of its end, a status ERROR or
// INVALID.
func failures(r *model.GateRun) []string {
	switch {
	case r.Fault != "":
		return append([]string{"end " + r.Fault + " was not done"}, r.Broken...)
	case r.Status == rule.Error.String() || r.Status == rule.Invalid.String():
		return append([]string{r.Status}, r.Broken...)
	}
	return r.Broken
}

// exact compares the numbers of a run in virtual time; any difference is a change.
func (d *difference) exact(was, now *model.GateRun) {
	var parts []string
	for _, n := range now.Numbers {
		for _, o := range was.Numbers {
			if o.Name == n.Name && o.Value != n.Value {
				parts = append(parts, fmt.Sprintf("%s %d → %d", n.Name, o.Value, n.Value))
			}
		}
	}
	if len(parts) > 0 {
		d.add(model.Changed, now.Name, "%s", strings.Join(parts, ", "))
	}
}

// numbers compares numbers that are measured over several seeds. It compares them in virtual time only: in real time
// the baseline is of another hour and perhaps of another machine, and a difference proves nothing.
func (d *difference) numbers(before *suite.Result, now *model.GateStage) {
	if before == nil || now.Numbers == nil || !now.Exact {
		return
	}
	random := 1
	for i := range now.Numbers.Claims {
		for _, m := range now.Numbers.Claims[i].Measured {
			if m.Random {
				random++
			}
		}
	}
	changes, err := suite.Compare(
		before,
		now.Numbers,
		stats.Rule{Confidence: 1 - falseAlarms/float64(random), Margin: d.margin},
	)
	if err != nil {
		d.add(model.Uncompared, "numbers", "%s", err)
		return
	}
	for i := range changes.Numbers {
		d.number(&changes.Numbers[i])
	}
}

func (d *difference) number(c *suite.Change) {
	kinds := map[stats.Decision]model.GateKind{stats.Regressed: model.Regressed, stats.Improved: model.Improved}
	what := c.Title
	if c.ID != linkID {
		what = c.ID + ", " + c.Title
	}
	switch kind, ok := kinds[c.Decision]; {
	case ok:
		d.add(
			kind,
			what,
			"%.4g → %.4g %s, %+.2f %% (%+.2f to %+.2f)",
			c.Old,
			c.New,
			c.Unit,
			100*c.Relative.Value,
			100*c.Relative.Low,
			100*c.Relative.High,
		)
	case c.Reason != "":
		d.add(model.Uncompared, what, "%s", c.Reason)
	}
}

// tally groups names by a common key, such as runs by the rule that they broke. The keys keep the order of their first
// names.
type tally struct {
	order []string
	where map[string][]string
}

func newTally() *tally { return &tally{where: map[string][]string{}} }

// add adds name under each key of list that is not in but.
func (t *tally) add(list, but []string, name string) {
	for _, what := range list {
		if slices.Contains(but, what) {
			continue
		}
		if t.where[what] == nil {
			t.order = append(t.order, what)
		}
		t.where[what] = append(t.where[what], name)
	}
}

// some names the first three, and says how many more there are.
func some(names []string) string {
	const few = 3
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}
