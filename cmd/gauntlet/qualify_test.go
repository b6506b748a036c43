package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/profiles"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/suite"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

func readQualification(t *testing.T, path string) *model.Qualification {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	var q model.Qualification
	must(t, json.Unmarshal(text, &q))
	return &q
}

// An engine qualifies for what it is, and the folder says by what.
func TestQualify(t *testing.T) {
	dir := t.TempDir()
	o := gauntlet(t, dir, "qualify", "--impl", "irn", "--profile", "irn", "--out", "report")
	if o.code != 0 || !strings.HasPrefix(o.stdout, "QUALIFIED  irn for irn") || o.stderr != "" {
		t.Fatalf("exit %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	q := readQualification(t, filepath.Join(dir, "report", "qualification.json"))
	if !q.Qualified || len(q.Reasons) != 0 || len(q.Scenarios) < 90 || q.Command == "" || q.Capabilities[0].Name != "irn" || len(q.TargetRuns) != 6 {
		t.Errorf("%+v %q, %d scenarios, %d runs of targets", q.Qualified, q.Reasons, len(q.Scenarios), len(q.TargetRuns))
	}
	for _, r := range q.Rules {
		if r.Status == "PASS" && (r.Judged < 1 || r.Met < r.Judged) || r.Core && r.Status != "PASS" {
			t.Errorf("%+v", r)
		}
	}
	for _, file := range []string{"qualification.html", "junit.xml", "capabilities.json", "scenarios/irn/irn-loss/report.html"} {
		if info, err := os.Stat(filepath.Join(dir, "report", file)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", file, err)
		}
	}
	if again := gauntlet(t, dir, "qualify", "--impl", "irn", "--profile", "irn", "--out", "report"); again.code != 3 || !strings.Contains(again.stderr, "already holds a qualification") {
		t.Errorf("into the same folder: exit %d, %s", again.code, again.stderr)
	}
}

// A profile of one's own is a file. A bound that cannot be kept and a core rule that never arises are reasons, and a waiver
// without need is one as well.
func TestQualifyMisses(t *testing.T) {
	dir := t.TempDir()
	profile := "# Mine.\ndeclares gbn\nreference openapn\nfamilies GBN\ncore GBN-BT0-001 GBN-NAK-001\n" +
		"target too-far PT-LW-01\nlink rate=100M delay=20ms queue=4000\nqp qd=1 rto=120ms\nload write msg=1KiB\nrun for=1s\n"
	must(t, os.WriteFile(filepath.Join(dir, "mine.txt"), []byte(profile), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "known.txt"), []byte("waive GBN-NAK-002 impl=gbn owner=o expires=9999-12-31 : r\n"), 0o644))
	o := gauntlet(t, dir, "qualify", "--impl", "gbn", "--profile", "./mine.txt", "--waivers", "./known.txt", "--out", "report", "--json")
	var q model.Qualification
	must(t, json.Unmarshal([]byte(o.stdout), &q))
	for _, want := range []string{"GBN-BT0-001", "GBN-NAK-002 XPASS", "target too-far, beside the reference, goodput ratio FAIL"} {
		if !strings.Contains(strings.Join(q.Reasons, "\n"), want) {
			t.Errorf("no %q in %q", want, q.Reasons)
		}
	}
	if o.code != 1 || q.Qualified || len(q.Waivers) != 1 || q.Waivers[0].Status != "XPASS" {
		t.Errorf("exit %d, %+v, %+v", o.code, q.Status, q.Waivers)
	}
}

func TestQualifyUsage(t *testing.T) {
	dir := t.TempDir()
	for args, want := range map[string]string{
		"":                                     "--profile: want one of fasr",
		"--profile rc-gbn":                     "want one implementation, or --dut rxe",
		"--profile rc-gbn --impl gbn,irn":      "want one implementation",
		"--profile rc-gbn --impl irn":          "irn does not declare gbn",
		"--profile nope --impl irn":            "unknown; known: fasr",
		"--profile irn --impl irn --seeds 0":   "want 1 or more",
		"--profile irn --impl irn --link auto": "means nothing on the sim bench",
		"--profile irn --impl exec:./x":        "add --bench netns",
		"--profile irn --impl irn --bench tin": "want one of sim",
	} {
		o := gauntlet(t, dir, append([]string{"qualify"}, strings.Fields(args)...)...)
		if o.code != 2 || !strings.Contains(o.stderr, want) || strings.Count(o.stderr, "\n") != 1 || o.stdout != "" {
			t.Errorf("%s: exit %d, want 2 and %q; stderr %q", args, o.code, want, o.stderr)
		}
	}
	if names := left(t, dir); len(names) > 0 {
		t.Errorf("left behind: %v", names)
	}
}

func TestListProfiles(t *testing.T) {
	o := gauntlet(t, t.TempDir(), "list", "profiles")
	for _, name := range profiles.Names() {
		if !strings.Contains(o.stdout, name+"  ") {
			t.Errorf("%s is not listed in\n%s", name, o.stdout)
		}
	}
	if o = gauntlet(t, t.TempDir(), "__complete", "qualify", "--profile", ""); !strings.Contains(o.stdout, "rc-gbn\n") {
		t.Errorf("completion offers %q", o.stdout)
	}
}

// What the scenarios say of a rule is put together as in the table of conform, with the reason of every verdict.
func TestEvidence(t *testing.T) {
	p, err := profiles.Find("rc-gbn")
	must(t, err)
	f := &qualifyFlags{conform: conformFlags{impl: "gbn", bench: "sim", known: catalogue{}, waived: []rule.Waiver{
		{Rule: "GBN-NAK-002", Impl: "gbn", Owner: "o", Reason: "r", Expires: "9999-12-31"},
		{Rule: "GBN-NAK-003", Impl: "gbn", Owner: "o", Reason: "r", Expires: "2020-01-01"},
		{Rule: "GBN-*", Impl: "other", Owner: "o", Reason: "r", Expires: "9999-12-31"}}}}
	e := newEvidence(f, &p, newConformTable([]string{"gbn"}, "never"))
	o := &suite.Outcome{Impl: "gbn", Scenario: "one", Bench: "sim", Status: rule.Fail, Unseen: []string{"GBN-RTX-003"},
		Findings: []rule.Finding{{Rule: "GBN-NAK-003", Text: "no NAK", Blame: rule.Responder}},
		Verdicts: []suite.Verdict{{Rule: "GBN-NAK-001", Status: rule.Pass, Met: 3}, {Rule: "GBN-NAK-002", Status: rule.XFail, Met: 1, Total: 1, Reason: "waived by o"},
			{Rule: "GBN-NAK-003", Status: rule.Fail, Met: 2, Total: 2}}}
	e.table.add(o)
	e.judged(o)
	q := e.qualification("f")
	for id, want := range map[string]model.RuleOutcome{
		"GBN-NAK-001": {Status: "PASS", Judged: 1, Met: 3},
		"GBN-NAK-002": {Status: "XFAIL", Judged: 1, Met: 1, Total: 1, Reason: "waived by o"},
		"GBN-NAK-003": {Status: "FAIL", Judged: 1, Met: 2, Total: 2, Finding: "one: no NAK (responder)"},
		"GBN-RTX-003": {Status: "INCONCLUSIVE", Reason: "its situation did not arise: "},
		"RC-ACK-001":  {Status: "NOT-APPLICABLE", Reason: "no scenario that the implementation"},
	} {
		i := slices.IndexFunc(q.Rules, func(r model.RuleOutcome) bool { return r.Rule == id })
		if r := q.Rules[i]; r.Status != want.Status || r.Judged != want.Judged || r.Met != want.Met || r.Total != want.Total || r.Finding != want.Finding || !strings.HasPrefix(r.Reason, want.Reason) {
			t.Errorf("%+v, want %+v", r, want)
		}
	}
	if slices.ContainsFunc(q.Rules, func(r model.RuleOutcome) bool { return strings.HasPrefix(r.Rule, "FASR") }) {
		t.Error("rules of another scheme are told")
	}
	if len(q.Waivers) != 2 || q.Waivers[0].Status != "XFAIL" || q.Waivers[1].Status != model.Expired {
		t.Errorf("%+v", q.Waivers)
	}
	if q.Settle(); q.Status != "FAIL" {
		t.Errorf("%s %q", q.Status, q.Reasons)
	}
}

// What the peer broke is not counted against the subject, and a waiver is judged by the scenarios that it names.
func TestQualifyCountsTheSubject(t *testing.T) {
	p, err := profiles.Find("rc-gbn")
	must(t, err)
	const day = "9999-12-31"
	f := &qualifyFlags{conform: conformFlags{impl: "gbn", peer: "fasr", bench: "sim", known: catalogue{}, waived: []rule.Waiver{
		{Rule: "GBN-NAK-002", Impl: "gbn", In: "one", Owner: "o", Reason: "r", Expires: day},
		{Rule: "GBN-NAK-002", Impl: "gbn", Sure: "two", In: "two,three", Owner: "o", Reason: "r", Expires: day},
		{Rule: "GBN-NAK-003", Impl: "gbn", Sure: "three", Owner: "o", Reason: "r", Expires: day},
		{Rule: "GBN-NAK-001", Impl: "gbn", Sure: "two", Owner: "o", Reason: "r", Expires: day}}}}
	e := newEvidence(f, &p, newConformTable([]string{"gbn"}, "never"))
	for _, o := range []*suite.Outcome{
		{Impl: "gbn", Scenario: "one", Status: rule.Fail, Findings: []rule.Finding{{Rule: "GBN-DUP-001", Side: "B", Text: "of the peer"}},
			Verdicts: []suite.Verdict{{Rule: "GBN-DUP-001", Status: rule.Fail, Required: true, Met: 1, Total: 1, Against: [2]int{0, 1}},
				{Rule: "GBN-NAK-002", Status: rule.XFail, Met: 1, Total: 1, Against: [2]int{1, 0}}, {Rule: "GBN-NAK-003", Status: rule.Pass, Met: 1}}},
		{Impl: "gbn", Scenario: "two", Verdicts: []suite.Verdict{{Rule: "GBN-DUP-001", Status: rule.Pass, Met: 1},
			{Rule: "GBN-NAK-001", Status: rule.Pass, Met: 1}, {Rule: "GBN-NAK-002", Status: rule.Pass, Met: 1}}},
	} {
		o = f.own(o)
		e.table.add(o)
		e.judged(o)
	}
	q := e.qualification("f")
	for id, want := range map[string]string{"GBN-DUP-001": "PASS", "GBN-NAK-001": "XPASS", "GBN-NAK-002": "XPASS", "GBN-NAK-003": "PASS"} {
		i := slices.IndexFunc(q.Rules, func(r model.RuleOutcome) bool { return r.Rule == id })
		if got := q.Rules[i]; got.Status != want {
			t.Errorf("%s: %+v, want %s", id, got, want)
		}
	}
	for i, want := range []string{"XFAIL", "XPASS", "INCONCLUSIVE", "XPASS"} {
		if got := q.Waivers[i].Status; got != want {
			t.Errorf("waiver %d: %s, want %s", i, got, want)
		}
	}
	if s := q.Scenarios[0]; s.Status != "INCONCLUSIVE" || !strings.Contains(s.Reason, "broken by the peer: GBN-DUP-001") {
		t.Errorf("%+v", s)
	}
	f.conform.peer = ""
	if o := (&suite.Outcome{Status: rule.Fail}); f.own(o) != o {
		t.Error("an implementation that meets itself is to blame for both ends")
	}
}
