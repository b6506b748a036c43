// Package passport makes the passport of a qualification, and verifies it. A passport is made from a report folder, so
// the holder of the key need not be where the device is. Package reports/passport defines its content and its
// signature.
package passport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/fault"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/registry"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/run"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/perf/datasheet"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/passport"
)

// maker collects the content of a passport.
type maker struct {
	folder string
	given  *model.Qualification
	made   *passport.Passport // filled by Make
	traces []string           // run folders of runs that ended in order
	counts datasheet.Findings // of the subject, from its counters
}

// Make makes the passport of the report folder of a qualification; with lab it includes the description of the lab. It
// judges the stored traces again: a passport states what they show, and lists separately the verdicts of the runs that
// they do not show.
func Make(ctx context.Context, folder string, lab bool) (*passport.Passport, error) {
	q, err := readQualification(filepath.Join(folder, "qualification.json"))
	if err != nil {
		return nil, fault.Usage(err)
	}
	m := &maker{folder: folder, given: q, made: &passport.Passport{Made: q.Started, Subject: subject(q), Bench: q.Bench,
		Tool:      passport.Tool{Version: q.Version, Commit: q.Commit, Rules: q.RulesHash},
		Qualified: q.Qualified, Status: q.Status, Validity: q.Validity, Targets: targets(q), Waivers: waived(q)}}
	m.made.Peer = registry.Short(q.Peer)
	m.made.Profile = passport.Profile{Name: q.Profile, Reference: q.Reference, SHA256: q.ProfileHash, Title: public(q)}
	for i := range q.Rules {
		r := &q.Rules[i]
		m.made.Rules = append(m.made.Rules, passport.Rule{ID: r.Rule, Level: r.Level, Role: r.Role, Status: r.Status,
			Required: r.Required, Core: r.Core, Judged: r.Judged, Met: r.Met, Total: r.Total})
	}
	for i := range q.Scenarios {
		if err := m.run(ctx, &q.Scenarios[i]); err != nil {
			return nil, err
		}
	}
	if err := m.sheet(ctx); err != nil {
		return nil, err
	}
	if lab {
		m.made.Lab = tell(q)
	}
	return m.made, nil
}

// qualificationLimit bounds a qualification.json, in bytes.
const qualificationLimit = 256 << 20

func readQualification(name string) (*model.Qualification, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("passport: %w; name the report folder of a qualification", err)
	}
	if info.Size() > qualificationLimit {
		return nil, fmt.Errorf("passport: %s: %d bytes, and %d is the limit", name, info.Size(), qualificationLimit)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("passport: %w", err)
	}
	q := &model.Qualification{}
	switch err := json.Unmarshal(text, q); {
	case err != nil || q.Subject == "" || len(q.Capabilities) == 0:
		return nil, fmt.Errorf("passport: %s: want what qualify writes", name)
	case q.RulesHash == "" || q.ProfileHash == "":
		return nil, fmt.Errorf(
			"passport: %s: it is of an earlier gauntlet, which noted neither rules nor profile; qualify again", name)
	}
	return q, nil
}

// run adds a run: hashes of its evidence, and the verdicts from its trace.
func (m *maker) run(ctx context.Context, s *model.ScenarioOutcome) error {
	r := passport.Run{Scenario: s.Name, Role: s.Role, Status: s.Status}
	defer func() { m.made.Runs = append(m.made.Runs, r) }()
	if s.Folder == "" {
		return nil
	}
	below, err := filepath.Rel(m.given.Folder, s.Folder)
	if err != nil || !filepath.IsLocal(below) {
		return fault.Usage(fmt.Errorf("passport: scenario %s lies in %s, which is not in %s; qualify again",
			s.Name, s.Folder, m.given.Folder))
	}
	dir := filepath.Join(m.folder, below)
	h, err := hashFolder(dir)
	if err != nil {
		return fault.Broken(err)
	}
	if h[specName] == "" {
		return nil // the run broke before any evidence was written
	}
	r.Folder = filepath.ToSlash(below)
	if h.into(&r); r.Trace == "" {
		return nil
	}
	again, err := judge(ctx, dir, &m.made.Subject)
	if err != nil {
		return fault.Broken(err)
	}
	r.Verdicts = decided(again.Verdicts)
	m.beyond(&r, resultOf(dir).Verdicts)
	m.count(dir, again.Verdicts)
	if again.Status != model.Incomplete {
		m.traces = append(m.traces, dir)
	}
	return nil
}

// beyond lists the verdicts in a run's result that its trace does not show, or shows otherwise.
func (m *maker) beyond(r *passport.Run, live []rule.Verdict) {
	shown := statuses(r.Verdicts)
	said := statuses(decided(live))
	ids := maps.Clone(shown)
	maps.Copy(ids, said)
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		if said[id] != shown[id] {
			m.made.Beyond = append(m.made.Beyond, passport.Beyond{Scenario: r.Scenario, Role: r.Role, Rule: id,
				Said: open(said[id]), Shown: open(shown[id])})
		}
	}
}

// count adds the counters of the subject in a run.
func (m *maker) count(dir string, verdicts []rule.Verdict) {
	s, err := scenario.ReadFile(filepath.Join(dir, specName))
	if err != nil {
		return // without the Spec nobody knows whose counters they are
	}
	for i := range verdicts {
		for _, n := range verdicts[i].Counts {
			side := strings.Index("AB", n.Side)
			if side < 0 || s.Impl[side] != m.given.Subject {
				continue
			}
			c := datasheet.Counter{Name: n.Name, Value: n.Value, Low: n.Low, High: n.High, Seen: 1}
			if !n.Right() {
				c.Wrong = 1
			}
			m.counts.Count(c)
		}
	}
}

// sheet takes the datasheet of the subject from all traces.
func (m *maker) sheet(ctx context.Context) error {
	for _, c := range m.counts.Counters {
		m.made.Counters = append(m.made.Counters, passport.Counter(c))
	}
	if len(m.traces) == 0 {
		return nil
	}
	all, err := run.Sheets(ctx, nil, m.traces...)
	if err != nil && !errors.As(err, new(*run.Unreadable)) {
		return fault.Broken(err)
	}
	for _, s := range all {
		if s.Device == m.given.Subject {
			m.made.Sheet = s.Rows
		}
	}
	return nil
}
