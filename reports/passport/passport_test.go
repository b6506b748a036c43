package passport_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/reports/model/modeltest"
	"github.com/rdma-gauntlet/gauntlet/reports/passport"
)

func encode(t *testing.T, p *passport.Passport) []byte {
	t.Helper()
	b, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A passport is a test result statement of in-toto, and reads back from it.
func TestStatement(t *testing.T) {
	text := encode(t, modeltest.Passport())
	p, err := passport.Decode(text)
	if err != nil || !bytes.Equal(encode(t, p), text) {
		t.Fatalf("%v\n%s", err, text)
	}
	var s struct {
		Type    string `json:"_type"`
		Subject []struct {
			Name   string
			Digest map[string]string
		}
		PredicateType string
		Predicate     struct {
			Result                                string
			Configuration                         []struct{ Name string }
			PassedTests, WarnedTests, FailedTests []string
		}
	}
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	if s.Type != "https://in-toto.io/Statement/v1" ||
		s.PredicateType != "https://in-toto.io/attestation/test-result/v0.1" || len(s.Subject) != 1 ||
		s.Subject[0].Name != "rnic 0x15b3 MT_0000000012 16.35.2000" || len(s.Subject[0].Digest["sha256"]) != 64 {
		t.Errorf("%+v", s)
	}
	if r := s.Predicate; r.Result != "FAILED" || len(r.Configuration) != 3 || !slices.Equal(r.PassedTests,
		[]string{"GBN-NAK-001 (responder)"}) ||
		!slices.Equal(r.FailedTests, []string{"GBN-NAK-002 (responder)"}) || !slices.Equal(r.WarnedTests,
		[]string{"RC-RNR-001 (responder)"}) {
		t.Errorf("%+v", r)
	}
}

// A qualification with waived failures has the result WARNED, for readers that do not know passports.
func TestResult(t *testing.T) {
	p := modeltest.Passport()
	p.Qualified, p.Rules[2].Status = true, "PASS"
	if text := encode(t, p); !strings.Contains(string(text), `"result":"WARNED"`) {
		t.Errorf("%s", text)
	}
	p.Rules = p.Rules[:3]
	if text := encode(t, p); !strings.Contains(string(text), `"result":"PASSED"`) {
		t.Errorf("%s", text)
	}
}

// A statement that disagrees with its passport is refused, because other readers use only the statement.
func TestDecodeRefuses(t *testing.T) {
	text := string(encode(t, modeltest.Passport()))
	for want, changed := range map[string]string{
		"no JSON":               text[1:],
		"want an in-toto":       strings.Replace(text, "Statement/v1", "Statement/v2", 1),
		"has no https":          strings.Replace(text, "passport/v1", "passport/v2", 1),
		"says something else":   strings.Replace(text, `"FAILED"`, `"PASSED"`, 1),
		"its passport, or more": strings.Replace(text, `{"_type"`, `{"more":1,"_type"`, 1),
		"of this version": strings.Replace(text, `"failedTests":["GBN-NAK-002 (responder)"]`,
			`"failedTests":["X"]`, 1),
	} {
		if _, err := passport.Decode([]byte(changed)); changed == text || err == nil || !strings.Contains(err.Error(),
			want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A passport that contradicts itself is refused.
func TestContradictions(t *testing.T) {
	for want, change := range map[string]func(*passport.Passport){
		"": func(*passport.Passport) {},
		"GBN-NAK-002 (responder) is said to be PASS, and its runs have it broken in 1": func(p *passport.Passport) {
			p.Rules[2].Status = "PASS"
		},
		"GBN-NAK-001 (responder) is said to be FAIL, and no run has it broken": func(p *passport.Passport) {
			p.Rules[0].Status = "FAIL"
		},
		"GBN-NAK-001 (requester) is said to be PASS, and no run has it seen to hold": func(p *passport.Passport) {
			p.Rules[1].Status = "PASS"
		},
		"it is said to be qualified, and GBN-NAK-002 (responder) is FAIL": func(p *passport.Passport) {
			p.Qualified, p.Status = true, "PASS"
		},
		`qualified is false, and the status is "PASS"`: func(p *passport.Passport) { p.Status = "PASS" },
	} {
		p := modeltest.Passport()
		change(p)
		if got := strings.Join(p.Contradictions(), "\n"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	p := modeltest.Passport()
	if p.Rules[1].Status = "PASS"; len(p.Contradictions()) != 1 {
		t.Error(p.Contradictions())
	}
	p.Beyond = append(p.Beyond, passport.Beyond{Rule: "GBN-NAK-001", Role: "requester"})
	if len(p.Contradictions()) != 0 {
		t.Errorf("what is only said is held against the traces: %q", p.Contradictions())
	}
}

// Two firmware versions are compared by identity, verdicts, targets, sheet and counters; a rule that is newly broken
// makes the later one worse.
func TestDiff(t *testing.T) {
	d := modeltest.Difference()
	how := map[string]string{}
	for _, list := range [][]passport.Change{d.Identity, d.Verdicts, d.Targets, d.Sheet, d.Counters} {
		for _, c := range list {
			how[c.Name] = c.Of[0] + " → " + c.Of[1] + " " + c.How
		}
	}
	want := map[string]string{
		"firmware":                "16.35.2000 → 16.36.1000 ",
		"GBN-NAK-001 (responder)": "PASS → FAIL WORSE",
		"GBN-NAK-002 (responder)": "FAIL → PASS BETTER",
		"loss-free, goodput":      "0.95 ±0.01 PASS → 0.5 ±0.1 FAIL WORSE",
		"NAK latency":             "4 µs, 3 µs to 9 µs → 400 µs APART",
		"hw/out_of_sequence":      "wrong in 1 of 4 → as the wire in 4 BETTER",
	}
	for name, text := range want {
		if how[name] != text {
			t.Errorf("%s: %q, want %q", name, how[name], text)
		}
	}
	if len(how) != len(want) || !d.Worsened() {
		t.Errorf("%q", how)
	}
	if same := passport.Diff(modeltest.Passport(), modeltest.Passport()); len(same.Identity)+len(same.Verdicts)+
		len(same.Targets)+len(same.Sheet)+len(same.Counters) > 0 || same.Worsened() {
		t.Errorf("%+v", same)
	}
	p := modeltest.Passport()
	p.Rules, p.Sheet, p.Targets, p.Counters = nil, nil, nil, nil
	if one := passport.Diff(p, modeltest.Passport()); len(one.Verdicts) != 4 || len(one.Sheet) != 3 ||
		one.Counters[0].Of[0] != "–" || !one.Worsened() {
		t.Errorf("%+v", one)
	}
}

// Only builds of a known commit, without local changes, have rules that are known to be equal.
func TestCompare(t *testing.T) {
	commit := strings.Repeat("a", 40)
	of := func(version, commit, rules string) passport.Tool {
		return passport.Tool{Version: version, Commit: commit, Rules: rules}
	}
	one := of("1", commit, "r")
	for _, c := range []struct {
		a, b passport.Tool
		want passport.Edition
	}{
		{one, one, passport.SameRules},
		{one, of("1", commit, "s"), passport.OtherRules},
		{one, of("2", commit, "r"), passport.OtherBuild},
		{of("1", "", "r"), of("1", "", "r"), passport.OtherBuild},
		{of("1", commit+"+changes", "r"), of("1", commit+"+changes", "r"), passport.OtherBuild},
	} {
		if got := c.a.Compare(c.b); got != c.want {
			t.Errorf("%+v %+v: %s", c.a, c.b, got)
		}
	}
}
