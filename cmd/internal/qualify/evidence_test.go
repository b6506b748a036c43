package qualify

import (
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/cmd/internal/conform"
	"github.com/rdma-gauntlet/gauntlet/cmd/internal/registry"
	"github.com/rdma-gauntlet/gauntlet/conformance/profiles"
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/suite"
	"github.com/rdma-gauntlet/gauntlet/conformance/waivers"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The verdicts of the scenarios about a rule are combined as in the table of conform, with the reason of each.
func TestEvidence(t *testing.T) {
	p, err := profiles.Find("rc-gbn")
	must(t, err)
	s := &conform.Session{Options: conform.Options{Impl: "gbn", Bench: "sim"}, Known: registry.Catalogue{},
		Impls: []string{"gbn"}, Table: conform.NewTable([]string{"gbn"}, false, nil), Waived: []waivers.Waiver{
			{Rule: "GBN-NAK-002", Impl: "gbn", Owner: "o", Reason: "r", Expires: "9999-12-31"},
			{Rule: "GBN-NAK-003", Impl: "gbn", Owner: "o", Reason: "r", Expires: "2020-01-01"},
			{Rule: "GBN-*", Impl: "other", Owner: "o", Reason: "r", Expires: "9999-12-31"}}}
	e := NewEvidence(&p, s)
	o := &suite.Outcome{Impl: "gbn", Scenario: "one", Bench: "sim", Status: rule.Fail, Unseen: []string{"GBN-RTX-003"},
		Findings: []rule.Finding{{Rule: "GBN-NAK-003", Record: 4, Packet: "A>B SEND_ONLY psn=+2", Text: "no NAK",
			Blame: rule.Responder}},
		Verdicts: []suite.Verdict{{Rule: "GBN-NAK-001", Status: rule.Pass, Met: 3},
			{Rule: "GBN-NAK-002", Status: rule.XFail, Met: 1, Total: 1, Reason: "waived by o"},
			{Rule: "GBN-NAK-003", Status: rule.Fail, Met: 2, Total: 2}}}
	s.Table.Add(o)
	e.Judged(o)
	q := e.Qualification()
	for id, want := range map[string]model.RuleOutcome{
		"GBN-NAK-001": {Status: "PASS", Judged: 1, Met: 3},
		"GBN-NAK-002": {Status: "XFAIL", Judged: 1, Met: 1, Total: 1, Reason: "waived by o"},
		"GBN-NAK-003": {Status: "FAIL", Judged: 1, Met: 2, Total: 2,
			Finding: "one: packet 4, A>B SEND_ONLY psn=+2: no NAK (responder)"},
		"GBN-RTX-003": {Status: "INCONCLUSIVE", Reason: "its situation did not arise: "},
		"RC-ACK-001":  {Status: "NOT-APPLICABLE", Reason: "no scenario that the implementation"},
	} {
		i := slices.IndexFunc(q.Rules, func(r model.RuleOutcome) bool { return r.Rule == id })
		if r := q.Rules[i]; r.Status != want.Status || r.Judged != want.Judged || r.Met != want.Met ||
			r.Total != want.Total || r.Finding != want.Finding || !strings.HasPrefix(r.Reason, want.Reason) {
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

// Failures of the peer do not count against the subject, and a waiver is judged by the scenarios that it names.
func TestQualifyCountsTheSubject(t *testing.T) {
	p, err := profiles.Find("rc-gbn")
	must(t, err)
	const day = "9999-12-31"
	s := &conform.Session{Options: conform.Options{Impl: "gbn", Peer: "fasr", Bench: "sim"},
		Known: registry.Catalogue{}, Impls: []string{"gbn"}, Table: conform.NewTable([]string{"gbn"}, false, nil),
		Waived: []waivers.Waiver{
			{Rule: "GBN-NAK-002", Impl: "gbn", In: "one", Owner: "o", Reason: "r", Expires: day},
			{Rule: "GBN-NAK-002", Impl: "gbn", Sure: "two", In: "two,three", Owner: "o", Reason: "r", Expires: day},
			{Rule: "GBN-NAK-003", Impl: "gbn", Sure: "three", Owner: "o", Reason: "r", Expires: day},
			{Rule: "GBN-NAK-001", Impl: "gbn", Sure: "two", Owner: "o", Reason: "r", Expires: day}}}
	e := NewEvidence(&p, s)
	for _, o := range []*suite.Outcome{
		{Impl: "gbn", Scenario: "one", Status: rule.Fail, Findings: []rule.Finding{{Rule: "GBN-DUP-001", Side: "B",
			Text: "of the peer"}},
			Verdicts: []suite.Verdict{{Rule: "GBN-DUP-001", Status: rule.Fail, Required: true, Met: 1, Total: 1,
				Against: [2]int{0, 1}},
				{Rule: "GBN-NAK-002", Status: rule.XFail, Met: 1, Total: 1, Against: [2]int{1, 0}},
				{Rule: "GBN-NAK-003", Status: rule.Pass, Met: 1}}},
		{Impl: "gbn", Scenario: "two", Verdicts: []suite.Verdict{{Rule: "GBN-DUP-001", Status: rule.Pass, Met: 1},
			{Rule: "GBN-NAK-001", Status: rule.Pass, Met: 1}, {Rule: "GBN-NAK-002", Status: rule.Pass, Met: 1}}},
	} {
		o = Own(&s.Options)(o)
		s.Table.Add(o)
		e.Judged(o)
	}
	q := e.Qualification()
	for id, want := range map[string]string{"GBN-DUP-001": "PASS", "GBN-NAK-001": "XPASS", "GBN-NAK-002": "XPASS",
		"GBN-NAK-003": "PASS"} {
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
	if first := q.Scenarios[0]; first.Status != "INCONCLUSIVE" || !strings.Contains(first.Reason,
		"broken by the peer: GBN-DUP-001") {
		t.Errorf("%+v", first)
	}
	s.Peer = ""
	if o := (&suite.Outcome{Status: rule.Fail}); Own(&s.Options)(o) != o {
		t.Error("an implementation that meets itself is to blame for both ends")
	}
}
