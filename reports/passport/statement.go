package passport

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
)

// The types of a statement: https://github.com/in-toto/attestation, spec/v1 and spec/predicates/test-result.md.
// Extension is the field that adds the passport to the predicate; another version of the passport has another field.
const (
	StatementType = "https://in-toto.io/Statement/v1"
	PredicateType = "https://in-toto.io/attestation/test-result/v0.1"
	Extension     = "https://github.com/rdma-gauntlet/gauntlet/passport/v1"
)

// statement is an in-toto statement about a test.
type statement struct {
	Type          string      `json:"_type"`
	Subject       []resource  `json:"subject"`
	PredicateType string      `json:"predicateType"`
	Predicate     *testResult `json:"predicate"`
}

// resource is a ResourceDescriptor.
type resource struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// testResult is the predicate.
type testResult struct {
	Result        string     `json:"result"`
	Configuration []resource `json:"configuration"`
	PassedTests   []string   `json:"passedTests,omitempty"`
	WarnedTests   []string   `json:"warnedTests,omitempty"`
	FailedTests   []string   `json:"failedTests,omitempty"`
	Passport      *Passport  `json:"https://github.com/rdma-gauntlet/gauntlet/passport/v1"`
}

// Digest returns the SHA-256 of a value as JSON, in hexadecimal. Values are of this project's types, which have a JSON
// form.
func Digest(v any) string {
	b, _ := json.Marshal(v)
	return Sum(b)
}

// Sum returns the SHA-256 of a text, in hexadecimal.
func Sum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func named(name, sum string) resource {
	return resource{name, map[string]string{"sha256": sum}}
}

// Encode returns the passport as a statement. Its subject is identified by the hash of Subject. Its configuration is
// the profile, the rules and the Specs, and its tests are the rules.
func (p *Passport) Encode() ([]byte, error) {
	p.sorted()
	t := &testResult{Result: p.result(), Passport: p}
	t.Configuration = []resource{named("profile "+p.Profile.Name, p.Profile.SHA256), named("rules", p.Tool.Rules)}
	for i := range p.Runs {
		if r := &p.Runs[i]; r.Spec != "" {
			t.Configuration = append(t.Configuration, named("spec of "+r.Name(), r.Spec))
		}
	}
	for i := range p.Rules {
		r := &p.Rules[i]
		switch r.Status {
		case rule.Pass.String():
			t.PassedTests = append(t.PassedTests, r.Name())
		case rule.Fail.String():
			t.FailedTests = append(t.FailedTests, r.Name())
		case rule.Inconclusive.String(), rule.NotApplicable.String(): // not tested
		default:
			t.WarnedTests = append(t.WarnedTests, r.Name())
		}
	}
	return json.Marshal(&statement{Type: StatementType, PredicateType: PredicateType, Predicate: t,
		Subject: []resource{named(p.Subject.Label(), Digest(&p.Subject))}})
}

// result returns the result of the predicate; a qualification with waived failures is WARNED.
func (p *Passport) result() string {
	waived := func(r Rule) bool { return r.Required && Plain(r.Status) != r.Status }
	switch {
	case !p.Qualified:
		return "FAILED"
	case slices.ContainsFunc(p.Rules, waived):
		return "WARNED"
	}
	return "PASSED"
}

// Decode parses the passport in a statement. It refuses a statement that differs from the encoding of its passport.
func Decode(payload []byte) (*Passport, error) {
	var s statement
	switch err := json.Unmarshal(payload, &s); {
	case err != nil:
		return nil, errors.New("not a passport: its statement is no JSON of in-toto")
	case s.Type != StatementType || s.PredicateType != PredicateType || s.Predicate == nil:
		return nil, errors.New("not a passport: want an in-toto statement with a test result")
	case s.Predicate.Passport == nil:
		return nil, fmt.Errorf("not a passport of this version: its test result has no %s", Extension)
	}
	p := s.Predicate.Passport
	if same, err := p.Encode(); err != nil || !bytes.Equal(same, payload) {
		return nil, errors.New(
			"not a passport of this version: its statement says something else than its passport, or more")
	}
	return p, nil
}
