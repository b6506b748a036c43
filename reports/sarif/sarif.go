// Package sarif writes broken rules as SARIF 2.1.0 (OASIS), which code hosts show beside the code: a rule for each
// broken one, and a result for each of its outcomes.
//
// A rule of a protocol is broken by a program and not by a line of code, so the location is the gate file, or the name
// of the subject.
package sarif

import (
	"cmp"
	"io"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Schema is the address of the format's schema.
const Schema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"

type log struct {
	Schema  string `json:"$schema"`
	Version string `json:"version"`
	Runs    []run  `json:"runs"`
}

type run struct {
	Tool    tool     `json:"tool"`
	Results []result `json:"results"`
}

type tool struct {
	Driver driver `json:"driver"`
}

type driver struct {
	Name            string       `json:"name"`
	SemanticVersion string       `json:"semanticVersion,omitempty"`
	Rules           []descriptor `json:"rules"`
}

type descriptor struct {
	ID    string  `json:"id"`
	Short message `json:"shortDescription"`
	Full  message `json:"fullDescription"`
	Help  message `json:"help"`
}

type message struct {
	Text string `json:"text"`
}

type result struct {
	RuleID       string            `json:"ruleId"`
	RuleIndex    int               `json:"ruleIndex"`
	Level        string            `json:"level"`
	Message      message           `json:"message"`
	Locations    []location        `json:"locations"`
	Fingerprints map[string]string `json:"partialFingerprints"`
	Suppressions []suppression     `json:"suppressions,omitempty"`
}

type location struct {
	Physical physical `json:"physicalLocation"`
}

type physical struct {
	Artifact artifact `json:"artifactLocation"`
	Region   region   `json:"region"`
}

type artifact struct {
	URI string `json:"uri"`
}

type region struct {
	StartLine int `json:"startLine"`
}

type suppression struct {
	Kind          string `json:"kind"`
	Justification string `json:"justification"`
}

// Gate writes the rules that a gate found broken. A waived rule is suppressed, with the reason.
func Gate(w io.Writer, g *model.Gate) error {
	d := driver{Name: "gauntlet", SemanticVersion: g.Version, Rules: []descriptor{}}
	results, index := []result{}, map[string]int{}
	for i := range g.Stages {
		for k := range g.Stages[i].Rules {
			o := &g.Stages[i].Rules[k]
			if !o.Required || !shown(o.Status) {
				continue
			}
			at, known := index[o.Rule]
			if !known {
				at, index[o.Rule] = len(d.Rules), len(d.Rules)
				d.Rules = append(d.Rules, describe(o))
			}
			results = append(results, found(g, &g.Stages[i], o, at))
		}
	}
	return quote.JSON(w, log{Schema, "2.1.0", []run{{tool{d}, results}}})
}

// shown reports whether a status is in the output.
func shown(status string) bool {
	return status == rule.Fail.String() || status == rule.XPass.String() || status == rule.XFail.String()
}

func describe(o *model.RuleOutcome) descriptor {
	return descriptor{
		ID:    clean(o.Rule),
		Short: message{text(o.Title)},
		Full:  message{text(o.Source.Requirement)},
		Help:  message{text(cmp.Or(o.Explain, rule.Explain(o.Rule)))},
	}
}

func found(g *model.Gate, s *model.GateStage, o *model.RuleOutcome, at int) result {
	r := result{
		RuleID:    clean(o.Rule),
		RuleIndex: at,
		Level:     "error",
		Message:   message{text(cmp.Or(o.Finding, o.Reason, o.Title))},
		Locations: []location{{physical{artifact{uri(cmp.Or(g.File, g.Subject))}, region{1}}}},
		Fingerprints: map[string]string{
			"gauntlet/v1": clean(o.Rule + " " + o.Role + " " + s.Title() + " " + g.Subject),
		},
	}
	if o.Status == rule.XFail.String() {
		r.Level, r.Suppressions = "note", []suppression{{"external", clean(o.Reason)}}
	}
	return r
}

// clean returns foreign text on one line.
func clean(s string) string { return quote.Line(s, quote.Message) }

// text returns foreign text on one line, and a dash for none, because the field must not be empty.
func text(s string) string { return cmp.Or(clean(s), "–") }

// uri returns a name as a relative reference, with the characters escaped that a reference may not have.
func uri(name string) string {
	const hex = "0123456789ABCDEF"
	var out []byte
	for i := 0; i < len(name) && len(out) < quote.Sentence; i++ {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '.',
			c == '_', c == '~', c == '/':
			out = append(out, c)
		default:
			out = append(out, '%', hex[c>>4], hex[c&15])
		}
	}
	return string(out)
}
